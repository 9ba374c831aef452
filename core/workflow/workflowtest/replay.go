package workflowtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Replay runs workflow code against the history of a run, as it was exported by a server or by [Export], and fails the test
// if the code no longer decides what the history says. Nothing is executed: activities need no code. Keep histories of real
// runs beside your tests, and no deployment breaks a run that is under way.
func Replay(t TB, exported []byte, definitions ...Definition) {
	t.Helper()
	if err := replay(exported, definitions); err != nil {
		t.Errorf("%v", err)
	}
}

// ReplayFiles is [Replay] of every file that the pattern matches (as in path/filepath.Match), such as "testdata/*.json". The
// test fails if there is none.
func ReplayFiles(t TB, pattern string, definitions ...Definition) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("workflowtest.ReplayFiles: %q matches no file", pattern)
		return
	}
	for _, file := range files {
		exported, err := os.ReadFile(file)
		if err == nil {
			err = replay(exported, definitions)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func replay(exported []byte, definitions []Definition) error {
	export, err := history.DecodeExport(exported)
	if err != nil {
		return err
	}
	var names []string
	for _, d := range definitions {
		names = append(names, d.Name())
		only, err := registry.New(d)
		if err != nil {
			return err
		}
		if entry, ok := only.FindWorkflow(export.Workflow); ok {
			return replayRun(export, entry)
		}
	}
	return fmt.Errorf("the history of run %s is of workflow %q, and was to be replayed against %q", export.Run, export.Workflow, names)
}

func replayRun(export *history.Export, entry scheduler.Entry) error {
	live := scheduler.New(scheduler.Identity{Run: export.Run, Generation: export.Generation,
		Workflow: export.Workflow}, entry)
	defer live.Close()
	if err := live.Replay(feed(export.Records)); err != nil {
		return fmt.Errorf("run %s: %w", export.Run, err)
	}
	return nil
}

func feed(records []*history.Record) scheduler.Feed {
	return func() (rec *history.Record, err error) {
		if len(records) > 0 {
			rec, records = records[0], records[1:]
		}
		return
	}
}

// Export is the run's log so far, that of its latest generation, in the form that [Replay] reads.
func Export(of Target) []byte {
	env, id := of.target()
	env.t.Helper()
	env.enter("Export")
	r := env.find(id)
	if r == nil {
		return nil
	}
	records, err := r.records()
	if err != nil {
		env.t.Fatalf("workflowtest.Export: %v", err)
	}
	return history.AppendExport(nil, &history.Export{Run: r.id, Generation: r.generation, Workflow: r.workflow, Records: records})
}

func (r *run) records() (records []*history.Record, err error) {
	decoder := history.Decoder{}
	for _, stored := range r.log {
		rec, err := decoder.Record(stored)
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return
}

// seldom is the length of a log from which on it is not replayed after every activation: else a long one would take the
// square of its length.
const seldom = 100

// check replays the log from its start, and holds what comes of it against the live run.
func (r *run) check(closes bool) error {
	if r.env.SkipReplay || len(r.log) < r.checkAt && !closes {
		return nil
	}
	if len(r.log) >= seldom {
		r.checkAt = len(r.log) * 5 / 4
	}
	records, err := r.records()
	if err != nil {
		return err
	}
	again := scheduler.New(r.identity(), r.entry)
	defer again.Close()
	r.env.inside = true
	err = again.Replay(feed(records))
	r.env.inside = false
	if err != nil {
		return err
	}
	if was, is := r.live.State(), again.State(); !was.Equal(is) {
		return fmt.Errorf("it published the state %s, and then %s: take time and randomness from workflow.Now, Random and UUID, and "+
			"everything else from inputs and results", was, is)
	}
	if was, is := r.live.Waiting(), again.Waiting(); !slices.Equal(was, is) {
		return errors.New("its units waited for other things than when they ran first:" + lines("first", was) + lines("again", is))
	}
	return nil
}

func lines(when string, waiting []string) (text string) {
	for _, line := range waiting {
		text += "\n  " + when + ": " + line
	}
	return
}
