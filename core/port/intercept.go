package port

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Call is one call of a port that stores or sends, as an interceptor sees it.
type Call struct {
	// Operation names the method: one of the Op constants.
	Operation string
	// Run is the run that it concerns; "" where it concerns several, or none.
	Run string
	// Detail tells calls of one operation apart: an item's key, a record's place.
	Detail string
	// Count is how many messages, timers or keys the call has; zero where it can have one alone.
	Count int
}

// Operations, as traces, metrics and simulations show them.
const (
	OpLook             = "look"
	OpRecords          = "records"
	OpSummary          = "summary"
	OpSize             = "size"
	OpCreate           = "create"
	OpFile             = "file"
	OpPut              = "put"
	OpDeleteLog        = "delete-log"
	OpDelete           = "delete"
	OpDiscard          = "discard"
	OpNote             = "note"
	OpNoted            = "noted"
	OpItem             = "item"
	OpRecord           = "record"
	OpBlock            = "block"
	OpUnblock          = "unblock"
	OpList             = "list"
	OpUnfinished       = "unfinished"
	OpPutDue           = "put-due"
	OpDueBefore        = "due-before"
	OpDeleteDue        = "delete-due"
	OpSaveTask         = "save-task"
	OpCancelTask       = "cancel-task"
	OpLoadTask         = "load-task"
	OpTasksOf          = "tasks-of"
	OpDeleteTask       = "delete-task"
	OpPutDefinition    = "put-definition"
	OpSetStatus        = "set-definition-status"
	OpFindDefinition   = "find-definition"
	OpDefinition       = "definition"
	OpVersions         = "versions"
	OpNames            = "names"
	OpDeleteDefinition = "delete-definition"
	OpPutWorker        = "put-worker"
	OpBeatWorker       = "beat-worker"
	OpListWorkers      = "list-workers"
	OpDeleteWorker     = "delete-worker"
	OpSendResumes      = "send-resumes"
	OpSendTasks        = "send-tasks"
)

// Around is what happens around a call of a port. It makes the call with do, once, several times or
// not at all, and says what the caller is told: it may measure the call, delay it, refuse it, or
// lose its answer. After an error of Around, the caller gets no value.
type Around func(ctx context.Context, call Call, do func() error) error

// Intercept has every call of the storing and sending ports go through around.
func (p Ports) Intercept(around Around) Ports {
	i := intercepted{p, around}
	p.Runs, p.Directory, p.Due, p.Tasks, p.Queue = i, i, i, i, i
	if p.Catalog != nil {
		p.Catalog = i
	}
	if p.Workers != nil {
		p.Workers = i
	}
	return p
}

// intercepted is all of these ports.
type intercepted struct {
	to     Ports
	around Around
}

// got makes a call that gives something.
func got[T any](
	ctx context.Context, i intercepted, call Call, do func() (T, error),
) (value T, err error) {
	err = i.around(ctx, call, func() (err error) {
		value, err = do()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// place is a record's, in a call's detail.
func place(generation, record int) string { return fmt.Sprintf("%d/%d", generation, record) }

func (i intercepted) Look(ctx context.Context, run string, known Position) (*View, error) {
	return got(ctx, i, Call{Operation: OpLook, Run: run}, func() (*View, error) {
		return i.to.Runs.Look(ctx, run, known)
	})
}

func (i intercepted) Records(
	ctx context.Context, run string, generation, after int,
) ([]*history.Record, error) {
	return got(ctx, i, Call{Operation: OpRecords, Run: run}, func() ([]*history.Record, error) {
		return i.to.Runs.Records(ctx, run, generation, after)
	})
}

func (i intercepted) RecordsBefore(
	ctx context.Context, run string, generation, before int,
) ([]*history.Record, error) {
	return got(ctx, i, Call{Operation: OpRecords, Run: run}, func() ([]*history.Record, error) {
		return i.to.Runs.RecordsBefore(ctx, run, generation, before)
	})
}

func (i intercepted) Note(ctx context.Context, run string, notes []Note) error {
	call := Call{Operation: OpNote, Run: run, Detail: fmt.Sprint(notes), Count: len(notes)}
	return i.around(ctx, call, func() error { return i.to.Runs.Note(ctx, run, notes) })
}

func (i intercepted) Noted(ctx context.Context, run, key string) (Position, error) {
	return got(ctx, i, Call{Operation: OpNoted, Run: run, Detail: key}, func() (Position, error) {
		return i.to.Runs.Noted(ctx, run, key)
	})
}

func (i intercepted) Item(ctx context.Context, run, key string) (*Item, error) {
	return got(ctx, i, Call{Operation: OpItem, Run: run, Detail: key}, func() (*Item, error) {
		return i.to.Runs.Item(ctx, run, key)
	})
}

func (i intercepted) Record(ctx context.Context, run string, at Position) (*history.Record, error) {
	call := Call{Operation: OpRecord, Run: run, Detail: place(at.Generation, at.Record)}
	return got(ctx, i, call, func() (*history.Record, error) {
		return i.to.Runs.Record(ctx, run, at)
	})
}

func (i intercepted) Summary(ctx context.Context, run string) (*Summary, error) {
	return got(ctx, i, Call{Operation: OpSummary, Run: run}, func() (*Summary, error) {
		return i.to.Runs.Summary(ctx, run)
	})
}

func (i intercepted) Create(ctx context.Context, summary *Summary, start Item) error {
	return i.around(ctx, Call{Operation: OpCreate, Run: summary.Run}, func() error {
		return i.to.Runs.Create(ctx, summary, start)
	})
}

func (i intercepted) File(
	ctx context.Context, run string, item Item,
) (stamp int64, there bool, err error) {
	err = i.around(ctx, Call{Operation: OpFile, Run: run, Detail: item.Key}, func() (err error) {
		stamp, there, err = i.to.Runs.File(ctx, run, item)
		return err
	})
	return stamp, there, err
}

func (i intercepted) Put(ctx context.Context, commit *Commit) error {
	call := Call{Operation: OpPut, Run: commit.Run, Detail: "without a record"}
	if commit.Record != nil {
		call.Detail = place(commit.Generation, commit.Record.Number)
	}
	return i.around(ctx, call, func() error { return i.to.Runs.Put(ctx, commit) })
}

func (i intercepted) DeleteLog(ctx context.Context, run string, generation int) error {
	call := Call{Operation: OpDeleteLog, Run: run, Detail: fmt.Sprint(generation)}
	return i.around(ctx, call, func() error { return i.to.Runs.DeleteLog(ctx, run, generation) })
}

func (i intercepted) Delete(ctx context.Context, run string, keys []string) error {
	call := Call{Operation: OpDelete, Run: run, Detail: fmt.Sprint(keys), Count: len(keys)}
	return i.around(ctx, call, func() error { return i.to.Runs.Delete(ctx, run, keys) })
}

func (i intercepted) Discard(ctx context.Context, run string, generation int, keys []string) error {
	call := Call{Operation: OpDiscard, Run: run, Detail: fmt.Sprint(generation, keys),
		Count: len(keys)}
	return i.around(ctx, call, func() error {
		return i.to.Runs.Discard(ctx, run, generation, keys)
	})
}

func (i intercepted) Block(ctx context.Context, run string, block *Block) error {
	call := Call{Operation: OpBlock, Run: run, Detail: block.Reason}
	return i.around(ctx, call, func() error { return i.to.Runs.Block(ctx, run, block) })
}

func (i intercepted) Unblock(ctx context.Context, run, mark string) error {
	call := Call{Operation: OpUnblock, Run: run, Detail: mark}
	return i.around(ctx, call, func() error { return i.to.Runs.Unblock(ctx, run, mark) })
}

// sized asks a store for a size; one that is no [Sizer] has none.
func (i intercepted) sized(
	ctx context.Context, run string, ask func(Sizer) (int64, error),
) (int64, error) {
	sizer, ok := i.to.Runs.(Sizer)
	if !ok {
		return 0, nil
	}
	return got(ctx, i, Call{Operation: OpSize, Run: run}, func() (int64, error) {
		return ask(sizer)
	})
}

func (i intercepted) Size(ctx context.Context, run string) (int64, error) {
	return i.sized(ctx, run, func(s Sizer) (int64, error) { return s.Size(ctx, run) })
}

func (i intercepted) SizeOfSummary(ctx context.Context, run string) (int64, error) {
	return i.sized(ctx, run, func(s Sizer) (int64, error) { return s.SizeOfSummary(ctx, run) })
}

func (i intercepted) SizeOfNewest(ctx context.Context, run string) (int64, error) {
	return i.sized(ctx, run, func(s Sizer) (int64, error) { return s.SizeOfNewest(ctx, run) })
}

func (i intercepted) SizeOfRecords(
	ctx context.Context, run string, generation, after int,
) (int64, error) {
	return i.sized(ctx, run, func(s Sizer) (int64, error) {
		return s.SizeOfRecords(ctx, run, generation, after)
	})
}

func (i intercepted) List(
	ctx context.Context, query ListQuery,
) (page []*Summary, next string, err error) {
	err = i.around(ctx, Call{Operation: OpList}, func() (err error) {
		page, next, err = i.to.Directory.List(ctx, query)
		return err
	})
	return page, next, err
}

func (i intercepted) Unfinished(
	ctx context.Context, cursor string,
) (runs []string, next string, err error) {
	err = i.around(ctx, Call{Operation: OpUnfinished}, func() (err error) {
		runs, next, err = i.to.Directory.Unfinished(ctx, cursor)
		return err
	})
	return runs, next, err
}

func (i intercepted) PutDue(ctx context.Context, timers ...DueTimer) error {
	call := Call{Operation: OpPutDue, Run: timers[0].Run, Count: len(timers)}
	return i.around(ctx, call, func() error { return i.to.Due.PutDue(ctx, timers...) })
}

func (i intercepted) DueBefore(ctx context.Context, before time.Time) ([]DueTimer, error) {
	return got(ctx, i, Call{Operation: OpDueBefore}, func() ([]DueTimer, error) {
		return i.to.Due.DueBefore(ctx, before)
	})
}

func (i intercepted) DeleteDue(ctx context.Context, timers []DueTimer) error {
	call := Call{Operation: OpDeleteDue, Run: timers[0].Run, Count: len(timers)}
	return i.around(ctx, call, func() error { return i.to.Due.DeleteDue(ctx, timers) })
}

func (i intercepted) SaveTask(ctx context.Context, state *TaskState) error {
	return i.around(ctx, Call{Operation: OpSaveTask, Run: state.Run}, func() error {
		return i.to.Tasks.SaveTask(ctx, state)
	})
}

func (i intercepted) CancelTask(ctx context.Context, key TaskKey) error {
	return i.around(ctx, Call{Operation: OpCancelTask, Run: key.Run}, func() error {
		return i.to.Tasks.CancelTask(ctx, key)
	})
}

func (i intercepted) LoadTask(ctx context.Context, key TaskKey) (*TaskState, error) {
	return got(ctx, i, Call{Operation: OpLoadTask, Run: key.Run}, func() (*TaskState, error) {
		return i.to.Tasks.LoadTask(ctx, key)
	})
}

func (i intercepted) TasksOf(ctx context.Context, run string) ([]*TaskState, error) {
	return got(ctx, i, Call{Operation: OpTasksOf, Run: run}, func() ([]*TaskState, error) {
		return i.to.Tasks.TasksOf(ctx, run)
	})
}

func (i intercepted) DeleteTask(ctx context.Context, key TaskKey) error {
	return i.around(ctx, Call{Operation: OpDeleteTask, Run: key.Run}, func() error {
		return i.to.Tasks.DeleteTask(ctx, key)
	})
}

func (i intercepted) SendResumes(ctx context.Context, messages ...Resume) error {
	call := Call{Operation: OpSendResumes, Run: messages[0].Run, Count: len(messages)}
	return i.around(ctx, call, func() error { return i.to.Queue.SendResumes(ctx, messages...) })
}

func (i intercepted) SendTasks(ctx context.Context, messages ...Task) error {
	call := Call{Operation: OpSendTasks, Run: messages[0].Run, Count: len(messages)}
	return i.around(ctx, call, func() error { return i.to.Queue.SendTasks(ctx, messages...) })
}

// named is a call that concerns a definition.
func named(operation, name string, version int) Call {
	return Call{Operation: operation, Detail: fmt.Sprintf("%s@%d", name, version)}
}

func (i intercepted) PutDefinition(ctx context.Context, definition *Definition) error {
	call := named(OpPutDefinition, definition.Name, definition.Version)
	return i.around(ctx, call, func() error { return i.to.Catalog.PutDefinition(ctx, definition) })
}

func (i intercepted) SetDefinitionStatus(
	ctx context.Context, name string, version int, status DefinitionStatus,
) error {
	return i.around(ctx, named(OpSetStatus, name, version), func() error {
		return i.to.Catalog.SetDefinitionStatus(ctx, name, version, status)
	})
}

func (i intercepted) FindDefinition(
	ctx context.Context, name string, version int,
) (*Definition, error) {
	return got(ctx, i, named(OpFindDefinition, name, version), func() (*Definition, error) {
		return i.to.Catalog.FindDefinition(ctx, name, version)
	})
}

func (i intercepted) Definition(
	ctx context.Context, name string, version int,
) (*Definition, error) {
	return got(ctx, i, named(OpDefinition, name, version), func() (*Definition, error) {
		return i.to.Catalog.Definition(ctx, name, version)
	})
}

func (i intercepted) Versions(ctx context.Context, name string) ([]*Definition, error) {
	return got(ctx, i, Call{Operation: OpVersions, Detail: name}, func() ([]*Definition, error) {
		return i.to.Catalog.Versions(ctx, name)
	})
}

func (i intercepted) Names(ctx context.Context, after string) ([]string, error) {
	return got(ctx, i, Call{Operation: OpNames, Detail: after}, func() ([]string, error) {
		return i.to.Catalog.Names(ctx, after)
	})
}

func (i intercepted) DeleteDefinition(ctx context.Context, name string, version int) error {
	return i.around(ctx, named(OpDeleteDefinition, name, version), func() error {
		return i.to.Catalog.DeleteDefinition(ctx, name, version)
	})
}

func (i intercepted) PutWorker(ctx context.Context, worker *Worker) error {
	call := Call{Operation: OpPutWorker, Detail: worker.URL}
	return i.around(ctx, call, func() error { return i.to.Workers.PutWorker(ctx, worker) })
}

func (i intercepted) BeatWorker(
	ctx context.Context, url string, load int64, at time.Time,
) (bool, error) {
	return got(ctx, i, Call{Operation: OpBeatWorker, Detail: url}, func() (bool, error) {
		return i.to.Workers.BeatWorker(ctx, url, load, at)
	})
}

func (i intercepted) ListWorkers(ctx context.Context, query WorkerQuery) ([]*Worker, error) {
	return got(ctx, i, Call{Operation: OpListWorkers, Detail: query.Service},
		func() ([]*Worker, error) {
			return i.to.Workers.ListWorkers(ctx, query)
		})
}

func (i intercepted) DeleteWorker(ctx context.Context, url string) error {
	call := Call{Operation: OpDeleteWorker, Detail: url}
	return i.around(ctx, call, func() error { return i.to.Workers.DeleteWorker(ctx, url) })
}
