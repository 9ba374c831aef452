package porttest

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// unreadableCases run the engine over the store: a run with something stored that this version cannot read is blocked, says
// why, loses nothing, and hinders no other run; once it can be read again, it goes on.
var unreadableCases = []namedCase{
	{"a record of a newer version", unreadable("version 2, this program reads versions up to 1: it was written by a newer one", bytes.ReplaceAll, `"v":1`, `"v":2`)},
	{"a record of version 0", unreadable("no version", bytes.ReplaceAll, `"v":1`, `"v":0`)},
	{"a record with an unknown event", unreadable(`an event of kind "dream"`, bytes.ReplaceAll, `"kind":"signal"`, `"kind":"dream"`)},
	{"a record with an unknown command", unreadable(`a command of kind "dream"`, bytes.ReplaceAll, `"kind":"start-timer"`, `"kind":"dream"`)},
	{"a record that is cut off", unreadable("at byte ", func(text, _, _ []byte) []byte { return text[:len(text)/2] }, "", "")},
	{"a record that is empty", unreadable("", func(_, _, _ []byte) []byte { return []byte("{}") }, "", "")},
	{"an item of the inbox", func(s *subject) {
		m := s.deploy()
		m.begin()
		m.signal("r", "m2", "b")
		inbox := s.look("r", port.Position{}).Inbox
		key := inbox[slices.IndexFunc(inbox, func(item port.Item) bool {
			return strings.HasPrefix(item.Key, "mail#m2#")
		})].Key
		var kept []byte
		s.TamperItem(s.t, "r", key, func(stored []byte) []byte {
			kept = bytes.Clone(stored)
			return bytes.ReplaceAll(stored, []byte(`"kind":"signal"`), []byte(`"kind":"dream"`))
		})
		m.end()
		m = s.deploy()
		m.blocks(strconv.Quote(key), `an event of kind "dream"`)
		m.goesOn(func() { s.TamperItem(s.t, "r", key, func([]byte) []byte { return kept }) })
	}},
	{"a summary", func(s *subject) {
		if s.TamperSummary == nil {
			s.t.Skip("the store knows nothing else of a run: Stores.TamperSummary is nil")
		}
		m := s.deploy()
		m.begin()
		whole, err := m.Get(s.t.Context(), "r")
		require.NoError(s.t, err)
		var kept []byte
		s.TamperSummary(s.t, "r", func(stored []byte) []byte {
			kept = bytes.Clone(stored)
			return []byte("gibberish")
		})
		m.end()
		m = s.deploy()
		m.shows(whole)
		_, err = s.Runs.Summary(s.t.Context(), "r")
		require.ErrorIs(s.t, err, history.ErrUnreadable, "nobody decides by what is left of it")
		_, _, err = m.Start(s.t.Context(), engine.StartRequest{Run: "r", Workflow: "collects"})
		require.Equal(s.t, port.Blocked, port.CodeOf(err),
			"nobody knows whether it is the same: %v", err)
		m.deliver()
		m.signal("r", "m2", "b")
		m.blocks("summary")
		m.shows(whole)
		m.goesOn(func() { s.TamperSummary(s.t, "r", func([]byte) []byte { return kept }) })
	}},
	{"a record where nobody but a rebuild looks", func(s *subject) {
		m := s.deploy()
		m.begin()
		kept := s.tamper(func([]byte) []byte { return []byte("gibberish") })
		m.end()
		m = s.deploy()
		done, err := m.Rebuild(s.t.Context())
		require.NoError(s.t, err, "one such run does not keep the others from being brought back")
		require.Equal(s.t, 1, done.Open, "the other one")
		m.signal("r", "m2", "b")
		m.blocks("record 2 of generation 1")
		m.goesOn(func() { s.tamper(func([]byte) []byte { return kept }) })
	}},
	{"a record where a resume has come too often", func(s *subject) {
		m := s.deploy()
		m.begin()
		kept := s.tamper(func([]byte) []byte { return []byte("gibberish") })
		m.end()
		m = s.deploy()
		require.NoError(s.t, m.DeadResume(s.t.Context(), port.Resume{Run: "r"}))
		m.signal("r", "m2", "b")
		m.blocks("record 2 of generation 1")
		m.goesOn(func() { s.tamper(func([]byte) []byte { return kept }) })
	}},
}

// unreadable makes a case of a change to the second record, which takes a signal and starts a timer.
func unreadable(says string, change func(text, from, to []byte) []byte, from, to string) func(*subject) {
	return func(s *subject) {
		m := s.deploy()
		m.begin()
		kept := s.tamper(func(stored []byte) []byte { return change(stored, []byte(from), []byte(to)) })
		m.end()
		m = s.deploy() // a process that has not read the record before
		m.signal("r", "m2", "b")
		m.blocks("record 2 of generation 1", says)
		m.goesOn(func() { s.tamper(func([]byte) []byte { return kept }) })
	}
}

// tamper changes the second record of run "r", and gives what it was.
func (s *subject) tamper(change func(stored []byte) []byte) (was []byte) {
	s.t.Helper()
	s.TamperRecord(s.t, "r", 1, 2, func(stored []byte) []byte {
		was = bytes.Clone(stored)
		changed := change(bytes.Clone(stored))
		require.NotEqual(s.t, string(stored), string(changed), "nothing was changed")
		return changed
	})
	return was
}

var letters = workflow.NewSignal[string]("letter")

// collects three letters, and starts a timer for each that it does not wait for.
var collects = workflow.New("collects", func(ctx workflow.Context, _ struct{}) (string, error) {
	all := ""
	for range 3 {
		letter, err := workflow.AwaitSignal(ctx, letters)
		if err != nil {
			return "", err
		}
		all += letter
		workflow.Timer(ctx, time.Hour)
	}
	return all, nil
})

// deployment is an engine over the store under test, with a queue that delivers when it is told to.
type deployment struct {
	*engine.Engine
	s  *subject
	mu sync.Mutex
	// resumes that were sent and are not delivered yet.
	resumes []port.Resume
}

func (s *subject) deploy() *deployment {
	s.t.Helper()
	d := &deployment{s: s}
	var err error
	d.Engine, err = engine.New(port.Ports{Runs: s.Runs, Directory: s.Directory, Due: s.Due,
		Tasks: s.Tasks, Queue: d, Clock: clock{}, Authors: authors{},
		NewID: func() string {
			return strings.ToLower(rand.Text())
		}}, engine.Config{Definitions: []workflow.Definition{collects}, TokenKey: make([]byte, 32),
		Version: "1"})
	require.NoError(s.t, err)
	return d
}

func (d *deployment) end() { d.Close() }

func (d *deployment) SendResumes(_ context.Context, messages ...port.Resume) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resumes = append(d.resumes, messages...)
	return nil
}

func (*deployment) SendTasks(context.Context, ...port.Task) error { return nil }

// deliver hands out what was sent until nothing is left that is due now.
func (d *deployment) deliver() {
	d.s.t.Helper()
	for {
		d.mu.Lock()
		messages := d.resumes
		d.resumes = nil
		d.mu.Unlock()
		delivered := false
		for _, message := range messages {
			if message.Delay > 0 {
				continue
			}
			delivered = true
			require.NoError(d.s.t, d.Activate(d.s.t.Context(), time.Time{},
				[]port.Resume{message})[0])
		}
		if !delivered {
			return
		}
	}
}

// begin brings two runs to where each has taken one letter.
func (d *deployment) begin() {
	d.s.t.Helper()
	for _, run := range []string{"r", "other"} {
		_, _, err := d.Start(d.s.t.Context(), engine.StartRequest{Run: run, Workflow: "collects"})
		require.NoError(d.s.t, err)
		d.deliver()
		d.signal(run, "m1", "a")
		d.deliver()
		require.Equal(d.s.t, upTo(2), numbers(d.s.log(run, 1, 0)))
	}
}

func (d *deployment) signal(run, id, letter string) {
	d.s.t.Helper()
	_, err := d.Signal(d.s.t.Context(), engine.MessageRequest{Run: run, ID: id}, "letter", history.Payload(`"`+letter+`"`))
	require.NoError(d.s.t, err)
}

// blocks delivers what was sent, and finds the run blocked with a message that says all this; its mail kept; others unhindered.
func (d *deployment) blocks(says ...string) {
	d.s.t.Helper()
	d.SendResumes(d.s.t.Context(), port.Resume{Run: "r"}) //nolint:errcheck // it has none
	d.deliver()
	summary, err := d.Get(d.s.t.Context(), "r")
	require.NoError(d.s.t, err)
	require.NotNil(d.s.t, summary.Blocked)
	require.Equal(d.s.t, port.ReasonUnreadable, summary.Blocked.Reason)
	for _, part := range append(says, "unreadable record", "then unblock the run") {
		require.Contains(d.s.t, summary.Blocked.Message, part)
	}
	require.Less(d.s.t, len(summary.Blocked.Message), 1000)
	d.signal("r", "m3", "c") // it still takes mail
	d.signal("other", "m2", "b")
	d.signal("other", "m3", "c")
	d.deliver()
	d.ended("other")
	_, err = d.Query(d.s.t.Context(), "r", "any", nil)
	require.Equal(d.s.t, port.Blocked, port.CodeOf(err), "%v", err)
	_, err = d.Terminate(d.s.t.Context(), engine.MessageRequest{Run: "r"}, "")
	require.Equal(d.s.t, port.Blocked, port.CodeOf(err), "it is not said to be ended, which it "+
		"cannot be: %v", err)
	require.ErrorContains(d.s.t, err, "then unblock the run")
}

// shows finds the run blocked, with what is known of it though its summary cannot be read, among others that can.
func (d *deployment) shows(whole *port.Summary) {
	d.s.t.Helper()
	got, err := d.Get(d.s.t.Context(), whole.Run)
	require.NoError(d.s.t, err)
	page, _, err := d.List(d.s.t.Context(), port.ListQuery{})
	require.NoError(d.s.t, err, "one such run does not keep the others from being listed")
	require.Len(d.s.t, page, 2)
	at := slices.IndexFunc(page, func(s *port.Summary) bool { return s.Run == whole.Run })
	require.NotEqual(d.s.t, -1, at)
	for _, known := range []*port.Summary{got, page[at]} {
		require.NotNil(d.s.t, known.Blocked)
		require.Equal(d.s.t, port.ReasonUnreadable, known.Blocked.Reason)
		require.Contains(d.s.t, known.Blocked.Message, "then unblock the run")
		require.Equal(d.s.t, whole.Workflow, known.Workflow)
		require.Equal(d.s.t, whole.Generation, known.Generation)
		require.Equal(d.s.t, whole.Status, known.Status)
		require.True(d.s.t, whole.Started.Equal(known.Started), "%s, not %s", known.Started, whole.Started)
	}
}

// goesOn unblocks the run once it can be read again.
func (d *deployment) goesOn(restore func()) {
	d.s.t.Helper()
	restore()
	require.NoError(d.s.t, d.Unblock(d.s.t.Context(), "r"))
	d.deliver()
	d.ended("r")
	d.end()
}

func (d *deployment) ended(run string) {
	d.s.t.Helper()
	summary, err := d.Get(d.s.t.Context(), run)
	require.NoError(d.s.t, err)
	require.Nil(d.s.t, summary.Blocked)
	require.Equal(d.s.t, history.Completed, summary.Status)
	require.Equal(d.s.t, `"abc"`, string(summary.Result))
}

type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

// authors live no longer than their call: no two run at a time here.
type authors struct{}

func (authors) Begin(time.Time) (string, time.Time)    { return strings.ToLower(rand.Text()), time.Time{} }
func (authors) End(string)                             {}
func (authors) Dead(string, time.Time, time.Time) bool { return true }
