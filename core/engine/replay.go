package engine

import (
	"errors"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// Replayed says what came of running a workflow's code against the log of one of its runs.
type Replayed struct {
	Run        string `json:"run"`
	Generation int    `json:"generation"`
	Workflow   string `json:"workflow"`
	// Records is how many the log has, Closed what it ends with; "" while the run goes on.
	Records int            `json:"records"`
	Closed  history.Status `json:"closed,omitempty"`
	// Agrees: the code decides what the log says, what it returned in the end included. Else a run with this log would be
	// blocked for this reason: see the Reason constants.
	Agrees  bool   `json:"agrees"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Replay runs the code of an exported log against it; no activity is executed. It is how a
// change is found safe, or not, before it meets the runs that are under way; so a workflow that is not among the definitions
// blocks, too. The clock only bounds how long workflow code may keep its turn.
//
// Code of a published definition is made of the source in the export, by one of the interpreters.
func Replay(clock port.Clock, definitions []workflow.Definition, interpreters map[string]Interpreter, export *history.Export) (*Replayed, error) {
	e, err := New(port.Ports{Clock: clock},
		Config{Definitions: definitions, Interpreters: interpreters})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	done := &Replayed{Run: export.Run, Generation: export.Generation, Workflow: export.Workflow, Records: len(export.Records)}
	if len(export.Records) == 0 {
		return nil, port.Errorf(port.Invalid, "the exported history of run %q has no records",
			export.Run)
	}
	if closes := export.Records[len(export.Records)-1].Closes(); closes != nil {
		done.Closed = closes.Status()
	}
	entry, err := e.exported(export)
	if err == nil {
		err = e.replay(entry, export)
	}
	if blocked := (*blockedError)(nil); errors.As(err, &blocked) {
		done.Reason, done.Message = blocked.reason, blocked.message
		return done, nil
	}
	done.Agrees = err == nil
	return done, err
}

// exported is the code that an export is of.
func (e *Engine) exported(export *history.Export) (scheduler.Entry, error) {
	switch d := export.Definition; {
	case d == nil:
		if entry, ok := e.registry.FindWorkflow(export.Workflow); ok {
			return entry, nil
		}
		return nil, e.unregistered(export.Workflow)
	case d.Kind == "":
		return nil, port.Errorf(port.Invalid, "the exported history of run %q has no source of "+
			"version %d of definition %q: it was deleted before the export",
			export.Run, d.Version, export.Workflow)
	default:
		made, err := e.interpret(&port.Definition{Name: export.Workflow, Version: d.Version,
			Kind: d.Kind, Source: d.Source})
		if err != nil {
			return nil, err
		}
		return made.entry, nil
	}
}

// replay runs code against a log.
func (e *Engine) replay(entry scheduler.Entry, export *history.Export) error {
	exec := scheduler.New(scheduler.Identity{Run: export.Run, Generation: export.Generation,
		Workflow: export.Workflow}, entry)
	defer exec.Close()
	records := export.Records
	err := e.guard(exec, func() error {
		return exec.Replay(func() (rec *history.Record, err error) {
			if len(records) > 0 {
				rec, records = records[0], records[1:]
			}
			return rec, nil
		})
	})
	if err != nil {
		return blockFor(err)
	}
	return nil
}
