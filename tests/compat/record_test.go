package compat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
	v1 "github.com/reprise-run/reprise/tests/compat/v1"
)

var record = flag.Bool("record", false, "record logs that have no file yet; those that have one stay as they are")

// folder of what is recorded today: named for the version of the record's form.
var folder = fmt.Sprint("v", history.Version)

// TestRecord runs real workflows on the embedded server and keeps their logs, each once and for all.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record: what is recorded is never recorded again")
	}
	for run, play := range plays {
		t.Run(run, func(t *testing.T) {
			if there, err := filepath.Glob(filepath.Join(folder, run+".*.json")); err != nil || len(there) > 0 {
				require.NoError(t, err)
				t.Skip("it is recorded already")
			}
			store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
			require.NoError(t, err)
			node, err := local.Start(t.Context(), local.Config{Store: store,
				Definitions: v1.Recorded(), TokenKey: bytes.Repeat([]byte("k"),
					32), Version: "1", Worker: "recorder",
				Interpreters: map[string]engine.Interpreter{"source": v1.Interpret,
					"versions": v1.InterpretVersions}})
			require.NoError(t, err)
			s := &stage{t: t, node: node, run: run}
			defer func() { require.NoError(t, node.Close()) }()
			play(s)
			for _, run := range append([]string{run}, s.others...) {
				s.keep(run)
			}
		})
	}
}

// payload is JSON text as a payload; none if there is no text.
func payload(text string) history.Payload {
	if text == "" {
		return nil
	}
	return history.Payload(text)
}

// stage is where a log is made: an embedded server with one run that matters.
type stage struct {
	t      *testing.T
	node   *local.Node
	run    string
	others []string                 // runs whose logs are kept, too
	amend  func(text []byte) []byte // what only a deployment writes
}

func (s *stage) start(workflow, input string) {
	s.t.Helper()
	_, _, err := s.node.Start(s.t.Context(), engine.StartRequest{Run: s.run, Workflow: workflow, Input: payload(input),
		Attributes: history.Attributes{"corpus": history.Payload(`"v1"`)}})
	require.NoError(s.t, err)
}

func (s *stage) mail(id string) engine.MessageRequest {
	return engine.MessageRequest{Run: s.run, ID: id}
}

func (s *stage) signal(id, name, input string) {
	s.t.Helper()
	_, err := s.node.Signal(s.t.Context(), s.mail(id), name, payload(input))
	require.NoError(s.t, err)
}

// update sends one and waits for its end.
func (s *stage) update(id, name, input string) {
	s.t.Helper()
	_, err := s.node.Update(s.t.Context(), s.mail(id), name, payload(input))
	require.NoError(s.t, err)
}

// until waits until the run's log has so many records in its current generation.
func (s *stage) until(generation, records int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		log, err := s.node.History(s.t.Context(), s.run, generation, 0)
		return err == nil && len(log) >= records
	}, 20*time.Second, time.Millisecond)
}

// ends waits until the run, or another one, has ended.
func (s *stage) ends(others ...string) {
	s.t.Helper()
	for _, run := range append([]string{s.run}, others...) {
		ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
		summary, err := s.node.Wait(ctx, run)
		cancel()
		require.NoError(s.t, err)
		require.True(s.t, summary.Status.Closed(), "run %s: %s %v", run, summary.Status, summary.Blocked)
	}
	s.others = append(s.others, others...)
}

// keep writes the log of each generation to a file, and its line to the list of files.
func (s *stage) keep(run string) {
	s.t.Helper()
	summary, err := s.node.Get(s.t.Context(), run)
	require.NoError(s.t, err)
	for generation := 1; generation <= summary.Generation; generation++ {
		export := &history.Export{Run: run, Generation: generation, Workflow: summary.Workflow}
		require.NoError(s.t, s.node.Export(s.t.Context(), run, generation, port.Position{},
			func(_ port.Position, rec *history.Record) error {
				export.Records = append(export.Records, rec)
				return nil
			}))
		text := history.AppendExport(nil, export)
		if s.amend != nil {
			text = s.amend(text)
		}
		text = withoutFolders(s.t, text)
		name := fmt.Sprintf("%s.%d.json", run, generation)
		create(s.t, filepath.Join(folder, name), text)
		list, err := os.OpenFile(filepath.Join(folder, "files.txt"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		require.NoError(s.t, err)
		_, err = fmt.Fprintf(list, "%x %s %s\n", sha256.Sum256(text), name, standing(export))
		require.NoError(s.t, errors.Join(err, list.Close()))
	}
}

// withoutFolders takes out of a panic's stack where this machine keeps its sources.
func withoutFolders(t *testing.T, text []byte) []byte {
	t.Helper()
	here, err := filepath.Abs("../..")
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte(here+"/"), nil)
	return regexp.MustCompile(`\\t/[^ "]*/src/`).ReplaceAll(text, []byte(`\t`))
}

// create makes a file, and refuses to replace one.
func create(t *testing.T, path string, text []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	require.NotErrorIs(t, err, fs.ErrExist, "a recorded log is never replaced: give the new one another name")
	require.NoError(t, err)
	_, err = file.Write(text)
	require.NoError(t, errors.Join(err, file.Close()))
}

// standing is how a generation ended.
func standing(export *history.Export) string {
	if closes := export.Records[len(export.Records)-1].Closes(); closes != nil {
		return string(closes.Status())
	}
	return "open"
}

// simple starts a workflow and waits for its end.
func simple(workflow, input string) func(*stage) {
	return func(s *stage) {
		s.start(workflow, input)
		s.ends()
	}
}

// plays are what is recorded, by the name of the run. They are not frozen: a new one makes a new file.
var plays = map[string]func(*stage){
	"activities": simple("activities", "5"), "failures": simple("failures", ""), "steps": simple("steps", "3"), "timers": simple("timers", ""),
	"attributes": simple("attributes", ""), "random": simple("random", ""), "saga": simple("saga", ""), "fails": simple("fails", `"plain"`),
	"fails-by-panic": simple("fails", `"panic"`), "fails-wrapped": simple("fails", `"wrapped"`), "fails-with-details": simple("fails", `"details"`),
	"unencodable": simple("unencodable", ""), "input-of-another-type": simple("echo", `{"not":"a text"}`),
	"unicode": simple("echo", `"dé漢🎉 \u2028 \u0000 </script> \"\\"`), "size-of-nothing": simple("echo", ""), "size-of-40-kb": simple("echo", `"`+strings.Repeat("x", 40<<10)+`"`),
	"phase-timeout": simple("phase", "20000000"), "patch-before": simple("patch-before", "2"), "patch-since": simple("patch-since", "2"),
	"patch-deprecating": simple("patch-deprecating", "2"), "patch-deprecated": simple("patch-deprecated", "2"), "patch-gone": simple("patch-gone", "2"),
	"tokens": playTokens, "signals": playSignals, "bereft": simple("bereft", ""), "update-of-another-life": playAnotherLife, "updates": playUpdates, "one-id": playOneID, "children": playChildren, "cancellation": playCancellation,
	"rounds": playRounds, "joins": playJoins, "phase": playPhase, "reset": playReset, "reset-letters": playResetWithLetters, "reset-earlier": playResetToEarlier, "reset-ended": playResetOfAnEndedRun, "terminate": playTerminate, "under-way": playUnderWay,
	"published": playPublished, "versions": playVersions,
	"locks": playLocks, "ending": playEnding, "asked": playAsked,
	"mistyped": playMistyped, "mistyped-as-error": playMistypedAsError,
	"receives": playReceives, "mixed": simple("mixed", ""), "failing": simple("failing", ""),
	"deployed": playDeployed, "handed-over": playHandedOver, "forgetful": playForgetful, "long-running": playLongRunning,
}

func playTokens(s *stage) {
	s.start("tokens", "")
	require.NoError(s.t, s.node.CompleteActivity(s.t.Context(), <-v1.Tokens, history.Payload(`"by hand"`), nil))
	require.NoError(s.t, s.node.CompleteActivity(s.t.Context(), <-v1.Tokens, nil,
		&history.Failure{FailureKind: history.Application, Type: "Refused", Message: "by hand", Details: history.Payload(`{"by":"ada"}`)}))
	<-v1.Tokens
	log, err := s.node.History(s.t.Context(), s.run, 1, 0)
	require.NoError(s.t, err)
	last := log[len(log)-1]
	require.NoError(s.t,
		s.node.DeadTask(s.t.Context(),
			port.Task{Run: s.run, Generation: 1, Command: last.Commands[0].(*history.ScheduleActivity),
				Scheduled: last.Time, Sent: last.Time, Attempt: 1}))
	s.ends()
}

// playPublished resets a run of a published definition to another version, while it runs and after
// it has ended.
func playPublished(s *stage) {
	for _, source := range []string{"one", "two", "three"} {
		_, _, err := s.node.Publish(s.t.Context(), engine.PublishRequest{Name: "published",
			Kind: "source", Source: source})
		require.NoError(s.t, err)
	}
	_, _, err := s.node.Start(s.t.Context(), engine.StartRequest{Run: s.run, Workflow: "published",
		Definition: 1, Input: payload("7")})
	require.NoError(s.t, err)
	s.until(1, 1)
	reset := func(id string, generation, definition int) {
		point := engine.ResetPoint{Generation: generation, Record: 1, Definition: definition}
		_, err := s.node.Reset(s.t.Context(), s.mail(id), point, "another version")
		require.NoError(s.t, err)
		s.until(generation+1, 1)
	}
	reset("second", 1, 2)
	s.signal("one", "published", `"x"`)
	s.ends()
	reset("third", 2, 3)
	s.ends()
}

// playVersions continues a run in other versions of its definition, and names a child's version.
func playVersions(s *stage) {
	for _, source := range []string{"one", "two", "three"} {
		request := engine.PublishRequest{Name: "versions", Kind: "versions", Source: source}
		_, _, err := s.node.Publish(s.t.Context(), request)
		require.NoError(s.t, err)
	}
	start := engine.StartRequest{
		Run:        s.run,
		Workflow:   "versions",
		Definition: 1,
		Input:      payload("0"),
	}
	_, _, err := s.node.Start(s.t.Context(), start)
	require.NoError(s.t, err)
	s.ends()
}

func playSignals(s *stage) {
	s.start("signals", "7")
	for i, text := range []string{"one", "two", "three", "four"} {
		s.signal(fmt.Sprint("s", i), "note", fmt.Sprintf("%q", text))
	}
	s.signal("s1", "note", `"two"`) // again
	s.signal("unread", "nobody-reads-it", "")
	s.signal("stop", "stop", "")
	s.ends()
}

func playUpdates(s *stage) {
	s.start("updates", "1")
	s.update("accepted", "add", "2")
	s.update("rejected", "add", "-2")
	s.update("failed", "add", "13")
	s.update("unknown", "subtract", "1")
	s.signal("stop", "stop", "")
	s.ends()
}

// playOneID sends messages of several kinds and names with one id, to two runs of one id.
func playOneID(s *stage) {
	for range 2 {
		_, _, err := s.node.Start(s.t.Context(), engine.StartRequest{Run: s.run, Workflow: "updates", Input: payload("1"), Reuse: true})
		require.NoError(s.t, err)
		s.update("req-7", "add", "2")
		s.update("req-7", "subtract", "2")
		s.signal("req-7", "stop", "")
		_, err = s.node.Wait(s.t.Context(), s.run)
		require.NoError(s.t, err)
	}
}

// playAnotherLife marks an update as accepted before, as the form allows, and nothing writes yet: by hand.
func playAnotherLife(s *stage) {
	s.start("updates", "1")
	s.update("u", "add", "2")
	s.signal("stop", "stop", "")
	s.ends()
	s.amend = func(text []byte) []byte {
		return bytes.Replace(text, []byte(`"id":"u","name":"add","input":2`), []byte(`"id":"u","name":"add","input":2,"accepted":true`), 1)
	}
}

func playChildren(s *stage) {
	s.start("children", "")
	s.ends("children-named", "children-0", "children-1")
	s.run = "children-2"
	s.signal("stop", "stop", "")
	s.run = "children"
	s.ends("children-2")
}

func playCancellation(s *stage) {
	s.start("cancellation", "")
	for range 3 {
		<-v1.Beaten
	}
	_, err := s.node.Cancel(s.t.Context(), s.mail("c"), "no need any more")
	require.NoError(s.t, err)
	s.ends()
}

func playRounds(s *stage) {
	s.start("rounds", `{"Number":0,"Seen":0}`)
	s.until(1, 1)
	s.signal("early", "note", `"early"`) // not taken before the third generation
	s.signal("empty", "note", "")
	s.signal("first", "stop", "")
	s.until(2, 1)
	s.signal("second", "stop", "")
	s.until(3, 1)
	s.signal("third", "stop", "")
	s.ends()
}

func playLocks(s *stage) {
	s.start("locks", "3")
	for _, name := range []string{"ann", "bob", "cy"} {
		s.signal(name, "note", fmt.Sprintf("%q", name))
	}
	s.ends()
}

// playAsked has a reason for its cancellation: the text of the error belongs to the behavior version.
func playAsked(s *stage) {
	s.start("ending", "")
	s.until(1, 1)
	_, err := s.node.Cancel(s.t.Context(), s.mail("c"), "ordered twice")
	require.NoError(s.t, err)
	s.ends()
}

func playReceives(s *stage) {
	s.start("receives", "")
	s.until(1, 2)
	s.signal("a", "note", `"four"`)
	s.until(1, 4)
	s.signal("b", "note", `"b"`)
	s.ends()
}

func playEnding(s *stage) {
	s.start("ending", "")
	s.signal("a", "note", `"a"`)
	s.ends()
}

// playMistyped resets a run that a signal of the wrong type blocks, without that signal.
func playMistyped(s *stage) {
	s.start("mistyped", "")
	s.until(1, 1)
	s.signal("a", "number", `"four"`)
	require.Eventually(s.t, func() bool {
		summary, err := s.node.Get(s.t.Context(), s.run)
		return err == nil && summary.Blocked != nil
	}, 20*time.Second, time.Millisecond)
	_, err := s.node.Reset(s.t.Context(), s.mail("reset"), engine.ResetPoint{Record: 1, ExcludeSignals: true}, "not a number")
	require.NoError(s.t, err)
	s.until(2, 1)
	s.signal("b", "number", `4`)
	s.ends()
}

// playMistypedAsError gave the code an error when it was recorded, under behavior version 1.
func playMistypedAsError(s *stage) {
	s.start("mistyped", "")
	s.until(1, 1)
	s.signal("a", "number", `"four"`)
	s.ends()
}

func playJoins(s *stage) {
	s.start("joins", "3")
	s.signal("a", "note", `"a"`)
	s.signal("b", "note", `"b"`)
	s.ends()
}

func playPhase(s *stage) {
	s.start("phase", "0")
	s.signal("a", "note", `"four"`)
	for _, n := range []string{"1", "0", "-1", "5"} {
		s.update("u"+n, "add", n)
	}
	s.signal("stop", "stop", "")
	s.ends()
}

// playReset resets a run twice, the first time to before an update was accepted that is under way.
func playReset(s *stage) {
	s.start("resettable", "4")
	s.until(1, 1)
	sent, err := s.node.SendUpdate(s.t.Context(), s.mail("u"), "add", history.Payload("6"))
	require.NoError(s.t, err)
	s.until(1, 2)
	s.signal("first", "note", `"first"`)
	s.until(1, 4)
	reset := func(id string, record int) {
		_, err := s.node.Reset(s.t.Context(), s.mail(id), engine.ResetPoint{Record: record}, "wrong price")
		require.NoError(s.t, err)
	}
	reset("reset-1", 1)
	s.until(2, 2)
	s.signal("second", "note", `"second"`)
	s.until(2, 3)
	reset("reset-2", 2)
	s.until(3, 1)
	s.signal("stop", "stop", "")
	s.ends()
	require.NotEmpty(s.t, sent.ID)
}

// playResetWithLetters resets a run that has ended to before its signals, and before an update that it had accepted.
func playResetWithLetters(s *stage) {
	s.start("resettable", "4")
	s.until(1, 1)
	_, err := s.node.SendUpdate(s.t.Context(), s.mail("u"), "add", history.Payload("6"))
	require.NoError(s.t, err)
	s.until(1, 2)
	s.signal("first", "note", `"first"`)
	s.until(1, 4)
	s.signal("second", "note", `"second"`)
	s.signal("stop", "stop", "")
	s.ends()
	_, err = s.node.Reset(s.t.Context(), s.mail("reset"), engine.ResetPoint{Record: 1}, "wrong price")
	require.NoError(s.t, err)
	s.until(2, 1)
	s.ends()
}

// playResetToEarlier resets a run to a record of its first generation, without the signals since,
// after it has continued as new.
func playResetToEarlier(s *stage) {
	s.start("rounds", `{"Number":0,"Seen":0}`)
	s.until(1, 1)
	s.signal("first", "stop", "")
	s.until(2, 1)
	_, err := s.node.Reset(s.t.Context(), s.mail("reset"), engine.ResetPoint{Generation: 1, Record: 1, ExcludeSignals: true}, "wrong price")
	require.NoError(s.t, err)
	s.until(3, 1)
	s.signal("early", "note", `"early"`)
	s.signal("empty", "note", "")
	for generation, id := range []string{"second", "third", "fourth"} {
		s.signal(id, "stop", "")
		s.until(min(generation+4, 5), 1)
	}
	s.ends()
}

// playResetOfAnEndedRun resets a run that has ended, without its signals: no record has the request.
func playResetOfAnEndedRun(s *stage) {
	pass := func(generation int) {
		s.until(generation, 1)
		for _, id := range []string{"first", "second"} {
			s.signal(fmt.Sprint(id, generation), "note", `"noted"`)
		}
		s.signal(fmt.Sprint("stop", generation), "stop", "")
		s.ends()
	}
	s.start("resettable", "4")
	pass(1)
	_, err := s.node.Reset(s.t.Context(), s.mail("reset"), engine.ResetPoint{Generation: 1, Record: 1, ExcludeSignals: true}, "wrong price")
	require.NoError(s.t, err)
	pass(2)
}

func playTerminate(s *stage) {
	s.start("child", `"waits"`)
	s.until(1, 1)
	_, err := s.node.Terminate(s.t.Context(), s.mail("t"), "by hand")
	require.NoError(s.t, err)
	s.ends()
}

func playUnderWay(s *stage) {
	s.start("under-way", "")
	<-v1.Beaten
	s.until(1, 1)
	s.run = "under-way-child"
	s.until(1, 1)
	s.run, s.others = "under-way", append(s.others, s.run)
}

// playDeployed records what no embedded server writes: until when a function can live, what it took over from a dead one;
// and the attributes of a child, for which the form has a place that nothing fills yet. They are written in by hand.
func playDeployed(s *stage) {
	s.start("children", "")
	s.ends()
	s.amend = func(text []byte) []byte {
		text = bytes.ReplaceAll(text, []byte(`,"events":`), []byte(`,"until":"2026-11-21T12:00:00.5Z","again":[{"key":"mail#a","filing":"f1"}],"resumes":[3],"events":`))
		return bytes.Replace(text, []byte(`"onClose":"leave"`), []byte(`"onClose":"leave","attributes":{"tier":"gold"}`), 1)
	}
}

// playHandedOver says of a step, by hand, what became of it before its invocation left it to the next: only a function, whose time is
// short, writes that.
func playHandedOver(s *stage) {
	s.start("steps", "3")
	s.ends()
	s.amend = func(text []byte) []byte {
		const resolved = `"events":[{"kind":"activity-resolved","seq":2`
		require.Contains(s.t, string(text), resolved)
		return bytes.Replace(text, []byte(resolved), []byte(`"tried":[{"seq":1,"next":"2026-11-21T12:00:01.5Z","attempts":[{"attempt":1,"started":"2026-11-21T12:00:00Z",`+
			`"ended":"2026-11-21T12:00:00.5Z","worker":"recorder","failure":{"kind":"application","type":"Refused","message":"not yet","details":{"by":"ada"},`+
			`"cause":{"kind":"application","message":"why"}}}]}],`+resolved), 1)
	}
}

// playForgetful has a generation begin after so much mail that not all of its ids were handed on: by hand, for it takes a hundred.
func playForgetful(s *stage) {
	playRounds(s)
	s.amend = func(text []byte) []byte {
		return regexp.MustCompile(`"mail":\["[^"]*",("[^]]*\])`).ReplaceAll(text, []byte(`"mail":[$1,"forgot":"2026-11-21T12:00:00.5Z"`))
	}
}

// playLongRunning has a generation begin of a run that is so old that logs are deleted: by hand, for it takes months.
func playLongRunning(s *stage) {
	playRounds(s)
	s.amend = func(text []byte) []byte {
		return regexp.MustCompile(`"logs":\{"first":1,"ended":1,`).ReplaceAll(text, []byte(`"logs":{"first":5,"expired":3,"ended":7,`))
	}
}
