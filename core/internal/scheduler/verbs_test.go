package scheduler_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// verbs of the transcripts:
//
//	run WORKFLOW          a new run of a workflow of these tests; the one before is verified first
//	activate [after=D]    one activation, D later; its input lists events, one a line (see events_test.go)
//	query NAME            asks a query; its input is the question
//	replay [with=WORKFLOW] [after=N] replays all so far, against other code if told so; in two pieces
//	                      if told so: the first N records, then the others with the run still warm
//	evict                 closes the live run; the next activation replays first
//	reset record=N        a new generation that begins with the first N records, and its input's events
//	continue              the generation after the one that has continued as new
//	outside               a goroutine of the author's calls the surface while no unit has the turn
//	deploy WORKFLOW       from here on the run's code is another one
//	pending               what the run waits for the answer of
var verbs = map[string]func(*transcript, *datadriven.TestData) string{
	"run": (*transcript).run, "activate": (*transcript).activation, "query": (*transcript).query, "replay": (*transcript).replay,
	"evict": (*transcript).evict, "reset": (*transcript).reset, "continue": (*transcript).goOn, "pending": (*transcript).pending, "deploy": (*transcript).deploy,
	"outside": (*transcript).callOutside,
}

func (tr *transcript) run(d *datadriven.TestData) string {
	tr.verify()
	tr.close()
	*tr = transcript{t: tr.t, workflow: d.CmdArgs[0].Key, now: epoch}
	tr.id = scheduler.Identity{Run: "run", Generation: 1, Workflow: tr.workflow}
	return ""
}

func (tr *transcript) activation(d *datadriven.TestData) string {
	if d.HasArg("after") {
		var after string
		d.ScanArgs(tr.t, "after", &after)
		passed, err := time.ParseDuration(after)
		require.NoError(tr.t, err)
		tr.now = tr.now.Add(passed)
	}
	shown, err := tr.activate(tr.events(d.Input))
	if err != nil {
		return report(err)
	}
	out := &bytes.Buffer{}
	out.WriteString(shown)
	indent(out, "paused ", tr.live.Paused())
	return out.String()
}

func (tr *transcript) query(d *datadriven.TestData) string {
	tr.warm()
	before := status(tr.live)
	answer, err := tr.live.Ask(d.CmdArgs[0].Key, history.Payload(d.Input))
	require.Equal(tr.t, before, status(tr.live), "a query advanced the run")
	if err != nil {
		return report(err)
	}
	return string(answer) + "\n"
}

func (tr *transcript) replay(d *datadriven.TestData) string {
	workflow := tr.workflow
	if d.HasArg("with") {
		d.ScanArgs(tr.t, "with", &workflow)
	}
	run := tr.fresh(workflow)
	defer run.Close()
	records, first := tr.records(), 0
	if d.HasArg("after") {
		d.ScanArgs(tr.t, "after", &first)
	}
	require.NoError(tr.t, run.Replay(feed(records[:first]...)))
	if err := run.Replay(feed(records[first:]...)); err != nil {
		require.Equal(tr.t, err, run.Failed())
		return report(err)
	}
	if len(tr.log) > 0 && status(run) != tr.log[len(tr.log)-1].state {
		return "another state:\n" + status(run)
	}
	return "same\n"
}

func (tr *transcript) evict(*datadriven.TestData) string {
	tr.close()
	out := &bytes.Buffer{}
	indent(out, "deferred: ", tr.deferred)
	tr.deferred = nil
	out.WriteString("evicted\n")
	return out.String()
}

func (tr *transcript) reset(d *datadriven.TestData) string {
	var record int
	d.ScanArgs(tr.t, "record", &record)
	tr.verify()
	tr.close()
	tr.log = tr.log[:record]
	tr.id.Generation++
	return ""
}

func (tr *transcript) goOn(*datadriven.TestData) string {
	closes, ok := tr.records()[len(tr.log)-1].Closes().(*history.ContinueAsNew)
	require.True(tr.t, ok, "the run has not continued as new")
	tr.warm()
	next := history.NewStarted(tr.id.Generation+1, closes.Workflow, closes.Input, 2)
	next.Signals, next.Attributes = tr.live.Unread(), tr.live.Attributes()
	tr.verify()
	tr.close()
	tr.log, tr.workflow = nil, closes.Workflow
	tr.id = scheduler.Identity{Run: "run", Generation: next.Generation, Workflow: closes.Workflow}
	shown, err := tr.activate([]history.Event{next})
	require.NoError(tr.t, err)
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "generation %d with input %s\n", next.Generation, next.Input)
	for _, signal := range next.Signals {
		fmt.Fprintf(out, "unread signal %s %s\n", signal.Name, signal.Input)
	}
	out.WriteString(shown)
	indent(out, "paused ", tr.live.Paused())
	return out.String()
}

func (tr *transcript) pending(*datadriven.TestData) string {
	tr.warm()
	var out strings.Builder
	for _, command := range tr.live.PendingCommands() {
		fmt.Fprintf(&out, "%d %s\n", command.Seq(), command.Kind())
	}
	return out.String()
}

// callOutside has a goroutine of the author's call the surface while the run waits.
func (tr *transcript) callOutside(*datadriven.TestData) string {
	tr.outside()
	return "called\n"
}

func (tr *transcript) deploy(d *datadriven.TestData) string {
	tr.verify()
	tr.close()
	tr.workflow, tr.deployed = d.CmdArgs[0].Key, len(tr.log)
	return ""
}
