package sqs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

func TestResumesComeThrough(t *testing.T) {
	r := &random{rand.New(rand.NewPCG(1, 2)), map[string]bool{}}
	s := newService()
	q := newQueue(s)
	for i := range 80 {
		m := port.Resume{}
		r.fill(reflect.ValueOf(&m).Elem(), 0)
		m.Run, m.Delay = fmt.Sprint("run", r.text(), i), 0
		if m.Carries != nil {
			m.Carries.Key += "k"
		}
		switch {
		case m.Carries == nil:
			m.Creates = nil
		case m.Creates != nil:
			m.Creates.Run = m.Run
		}
		s.queues = map[string][]sent{}
		require.NoError(t, q.SendResumes(t.Context(), m))
		got, err := q.DecodeResume(t.Context(), s.queues["resumes"][0].body)
		require.NoError(t, err)
		require.Equal(t, canonical(m), canonical(got))
	}
	requireAll(t, r, port.Resume{}, port.Item{}, port.Summary{})
}

// canonical replaces what a summary's JSON may write differently: white space and replaced characters of payloads.
func canonical(m port.Resume) port.Resume {
	if m.Creates == nil {
		return m
	}
	summary := *m.Creates
	for _, payload := range []*history.Payload{&summary.Input, &summary.Result, &summary.State} {
		*payload = compact(*payload)
	}
	attributes := history.Attributes{}
	for name, value := range summary.Attributes {
		attributes[strings.ToValidUTF8(name, "\uFFFD")] = compact(value)
	}
	summary.Attributes = attributes
	if summary.Failure != nil {
		text, _ := json.Marshal(summary.Failure)
		summary.Failure = &history.Failure{Message: string(compact(text))}
	}
	m.Creates = &summary
	return m
}

func compact(p history.Payload) history.Payload {
	var out bytes.Buffer
	if json.Compact(&out, p) != nil {
		return p
	}
	return out.Bytes()
}

func TestTasksComeThrough(t *testing.T) {
	r := &random{rand.New(rand.NewPCG(3, 4)), map[string]bool{}}
	s := newService()
	q := newQueue(s)
	for range 80 {
		m := port.Task{}
		r.fill(reflect.ValueOf(&m).Elem(), 0)
		m.Run += "run"
		command := &history.ScheduleActivity{}
		r.fill(reflect.ValueOf(command).Elem(), 0)
		command.Number(r.Int64N(1 << 40))
		command.Emitter(r.text())
		m.Command, m.Delay = command, 0
		for i := range m.Failed {
			if r.IntN(20) == 0 {
				m.Failed[i].Failure = &history.Failure{FailureKind: history.Panic, Stack: strings.Repeat(fmt.Sprint(r.Uint64()), 15_000)}
			}
		}
		s.queues = map[string][]sent{}
		require.NoError(t, q.SendTasks(t.Context(), m))
		got, err := q.DecodeTask(t.Context(), s.queues["tasks"][0].body)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	requireAll(t, r, port.Task{}, history.Attempt{}, history.Failure{}, history.ScheduleActivity{},
		history.ActivityOptions{}, history.RetryPolicy{})
}

// requireAll: the random values reached every field of these.
func requireAll(t *testing.T, r *random, all ...any) {
	t.Helper()
	for _, one := range all {
		of := reflect.TypeOf(one)
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				require.True(t, r.filled[of.Name()+"."+of.Field(i).Name], "%s.%s was never set", of.Name(), of.Field(i).Name)
			}
		}
	}
}

// TestBodiesStay: what lies in a queue while a new version is deployed must be read by it. These bodies are never edited.
func TestBodiesStay(t *testing.T) {
	s := newService()
	q := newQueue(s)
	at := time.Date(2030, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	signal := history.NewSignal("s-1", "note", history.Payload(`{"a": "<b>"}`))
	history.File(signal, "f1")
	start := &history.Started{Generation: 1, Workflow: "order", Input: history.Payload(`5`), Seed: 7}
	history.File(start, "f2")
	resumes := []port.Resume{{Run: "r"}, {Run: "r 2", Unblocks: "b1"},
		{Run: "r", Carries: &port.Item{Key: "mail#s-1", Event: signal, Stamp: at.UnixNano(),
			Durable: true}},
		{Run: "r", Carries: &port.Item{Key: "start#1", Event: start, Stamp: 1, Durable: true},
			Creates: &port.Summary{Run: "r", Workflow: "order", Generation: 1,
				Status: history.Running, Started: at, Input: history.Payload(`5`)}}}
	require.NoError(t, q.SendResumes(t.Context(), resumes...))

	command := &history.ScheduleActivity{Activity: "charge", Input: history.Payload(`{"to":1}`), Options: history.ActivityOptions{StartToClose: time.Minute}}
	command.Number(3)
	tasks := []port.Task{{Run: "r", Generation: 2, Command: command, Scheduled: at,
		Sent: at.Add(time.Second), Attempt: 1},
		{Run: "r", Generation: 2, Command: command, Scheduled: at, Sent: at.Add(time.Second),
			Attempt: 2, Expire: true,
			Failed: []history.Attempt{{Number: 1, Started: at, Ended: at.Add(time.Second),
				Worker: "w",
				Failure: &history.Failure{FailureKind: history.Application, Type: "declined",
					Message: "no"}}}}}
	require.NoError(t, q.SendTasks(t.Context(), tasks...))

	var bodies strings.Builder
	for _, m := range append(s.queues["resumes"], s.queues["tasks"]...) {
		bodies.WriteString(m.body + "\n")
	}
	stored, err := os.ReadFile("testdata/bodies.v1.jsonl")
	require.NoError(t, err)
	// The second of them took off whatever mark there was, before marks had ids. Now it has the run looked at; functions/timer takes off the
	// marks of the version before.
	before, rest, _ := strings.Cut(string(stored), "\n")
	older, rest, _ := strings.Cut(rest, "\n")
	got, err := q.DecodeResume(t.Context(), older)
	require.NoError(t, err)
	require.Equal(t, port.Resume{Run: "r 2"}, got)
	now := before + "\n" + rest
	require.Equal(t, now, bodies.String())
	lines := strings.Split(now, "\n")
	for i, want := range resumes {
		got, err := q.DecodeResume(t.Context(), lines[i])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for i, want := range tasks {
		got, err := q.DecodeTask(t.Context(), lines[len(resumes)+i])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestUnreadableBodies(t *testing.T) {
	q := newQueue(newService())
	packed := func(text string) string {
		return `{"v":1,"run":"r","packed":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}`
	}
	for body, says := range map[string]string{
		``:                                          `at byte 0: unexpected end`,
		`hello`:                                     `a resume message, "hello": at byte 1: invalid character 'h'`,
		`{"run":"r"}`:                               `no version`,
		`{"v":2,"run":"r","dream":1}`:               `version 2, this program reads versions up to 1: it was sent by a newer one`,
		`{"v":1}`:                                   `it names no run`,
		`{"v":1,"run":"r","dream":1}`:               `unknown field "dream"`,
		`{"v":1,"run":"r"} {}`:                      `invalid character '{' after top-level value`,
		`{"v":1,"run":7}`:                           `at byte 14: json: cannot unmarshal number`,
		`{"v":1,"run":"r","packed":"!"}`:            `illegal base64`,
		`{"v":1,"run":"r","packed":""}`:             `it is empty`,
		packed(`{"v":1,"run":"r","dream":1}`):       `unknown field "dream"`,
		packed(packed(`{"v":1,"run":"r"}`)):         `packed twice`,
		packed("\x01\xff"):                          `packed, in "{\"v\":1`,
		packed("@r/nowhere"):                        `nothing is kept at "r/nowhere"`,
		`{"v":1,"run":"r","carries":{}}`:            `the event that a resume of run "r" carries`,
		`{"v":1,"run":"r","carries":{"n":1}}`:       `unknown field "n"`,
		`{"v":1,"run":"r","creates":{}}`:            `it creates run "", and does not carry its start`,
		`{"v":1,"run":"r","creates":7}`:             `the summary that goes with a start of run "r"`,
		`{"v":1,"run":"r","attempt":1}`:             `unknown field "attempt"`,
		`{"v":1,"run":"` + strings.Repeat("x", 200): `xxx"… (214 bytes): at byte 214`,
		`{"v":1,"run":"r","carries":{"key":"k","event":{"kind":"dream"}}}`:               `an event of kind "dream"`,
		`{"v":1,"run":"r","carries":{"event":{"kind":"timer-fired","seq":1}}}`:           `has no key`,
		`{"v":1,"run":"r","carries":{"key":"k","event":{"kind":"timer-fired","seq":x}}}`: `invalid character 'x'`,
	} {
		_, err := q.DecodeResume(t.Context(), body)
		require.ErrorIs(t, err, history.ErrUnreadable, body)
		require.NotErrorIs(t, err, port.ErrUnavailable, body)
		require.ErrorContains(t, err, says)
	}
	const head = `{"v":1,"run":"r","generation":1,"attempt":1,`
	for body, says := range map[string]string{
		`{"v":1,"run":"r"}`:                                `a task message, "{\"v\":1,\"run\":\"r\"}": it does not name a run`,
		head + `"command":{"kind":"dream"}}`:               `the command of a task of run "r"`,
		head + `"command":{"kind":"start-timer","seq":1}}`: `a command of kind start-timer is no task`,
		head + `"sent":"9999-12-31T23:59:59-23:59","command":{"kind":"schedule-activity","seq":1,"activity":"a"}}`:        `the time 10000-01-01`,
		head + `"sent":"noon","command":{"kind":"schedule-activity","seq":1,"activity":"a"}}`:                             `"noon"`,
		head + `"command":{"kind":"schedule-activity","seq":1,"activity":"a"},"failed":{"kind":"timer-fired","seq":1}}`:   `an event of kind timer-fired has none`,
		head + `"command":{"kind":"schedule-activity","seq":1,"activity":"a"},"failed":{"kind":"activity-resolved",1:1}}`: `invalid character '1'`,
	} {
		_, err := q.DecodeTask(t.Context(), body)
		require.ErrorIs(t, err, history.ErrUnreadable, body)
		require.ErrorContains(t, err, says)
	}
}

// FuzzBody: what anybody puts into a queue is read or refused; what was read comes through again.
func FuzzBody(f *testing.F) {
	stored, err := os.ReadFile("testdata/bodies.v1.jsonl")
	require.NoError(f, err)
	for line := range strings.Lines(string(stored)) {
		f.Add(strings.TrimSuffix(line, "\n"))
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := newService()
		q := newQueue(s)
		if resume, err := q.DecodeResume(t.Context(), body); err != nil {
			require.ErrorIs(t, err, history.ErrUnreadable)
		} else {
			again(t, s, "resumes", resume, q.SendResumes, q.DecodeResume)
		}
		if task, err := q.DecodeTask(t.Context(), body); err != nil {
			require.ErrorIs(t, err, history.ErrUnreadable)
		} else {
			again(t, s, "tasks", task, q.SendTasks, q.DecodeTask)
		}
	})
}

// again sends and reads a message, and does so with what came of it: nothing changes any more.
func again[M any](t *testing.T, s *service, queue string, m M, send func(context.Context, ...M) error, read func(context.Context, string) (M, error)) {
	t.Helper()
	require.NoError(t, send(t.Context(), m))
	first := s.queues[queue][0].body
	got, err := read(t.Context(), first)
	require.NoError(t, err)
	require.NoError(t, send(t.Context(), got))
	require.Equal(t, first, s.queues[queue][1].body)
}
