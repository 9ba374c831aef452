package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

func TestPayload(t *testing.T) {
	type order struct {
		Items []string `json:"items"`
	}
	for _, c := range []struct {
		value any
		text  string
	}{
		{order{[]string{"<a>"}}, `{"items":["\u003ca\u003e"]}`}, {map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`}, {"", `""`}, {0, `0`},
		{struct{}{}, ""}, {nil, ""}, {(*order)(nil), ""}, {[]int(nil), ""}, {[]int{}, `[]`},
		{history.Payload(nil), ""}, {history.Payload{}, ""}, {history.Payload(" null "), ""}, {history.Payload(` {"a": 1}`), `{"a": 1}`},
	} {
		payload, err := history.Encode(c.value)
		require.NoError(t, err)
		require.Equal(t, c.text, string(payload), "%#v", c.value)
		if c.text == "" {
			require.Nil(t, payload, "%#v", c.value)
		}
	}
	_, err := history.Encode(history.Payload(`{"a":`))
	require.EqualError(t, err, `{"a": is not JSON`)
	deepest := strings.Repeat("[", history.MaxDepth) + strings.Repeat("]", history.MaxDepth)
	for _, readable := range []string{deepest, `["` + strings.Repeat(`[\"`, history.MaxDepth) + `"]`, "[" + strings.Repeat("[],", history.MaxDepth) + "0]"} {
		_, err = history.Encode(history.Payload(readable))
		require.NoError(t, err)
	}
	_, err = history.Encode(history.Payload("[" + deepest + "]"))
	require.ErrorContains(t, err, "more than 5000 levels deep")
	_, err = history.Encode(math.Inf(1))
	require.ErrorContains(t, err, "float64 cannot be encoded as JSON")
	_, err = history.Encode(strings.Repeat("x", history.MaxPayload))
	require.ErrorContains(t, err, "the limit is 52428800: store it elsewhere")
	_, err = history.Encode(history.Payload(`"` + strings.Repeat("x", history.MaxPayload) + `"`))
	require.ErrorContains(t, err, "the limit is 52428800")

	decoded, err := history.Decode[order](history.Payload(`{"items":["x"]}`))
	require.NoError(t, err)
	require.Equal(t, order{[]string{"x"}}, decoded)
	for _, none := range []history.Payload{nil, {}, history.Payload(`null`)} {
		decoded, err = history.Decode[order](none)
		require.NoError(t, err)
		require.Zero(t, decoded)
	}
	raw, err := history.Decode[history.Payload](history.Payload(`[1]`))
	require.NoError(t, err)
	require.Equal(t, `[1]`, string(raw))
	_, err = history.Decode[struct{}](history.Payload(`[1]`))
	require.NoError(t, err)
	_, err = history.Decode[int](history.Payload(`"` + strings.Repeat("é", 200) + `"`))
	require.ErrorContains(t, err, "… (402 bytes) is not a int")

	var inside struct{ P history.Payload }
	require.NoError(t, json.Unmarshal([]byte(`{"P":{"a": 1}}`), &inside))
	text, err := json.Marshal(inside)
	require.NoError(t, err)
	require.Equal(t, `{"P":{"a":1}}`, string(text))
}

func TestFailure(t *testing.T) {
	require.Nil(t, history.FailureOf(nil))
	plain := history.FailureOf(errors.New("x"))
	require.Equal(t, &history.Failure{FailureKind: history.Application, Type: "*errors.errorString", Message: "x"}, plain)
	require.Same(t, plain, history.FailureOf(plain))
	require.NoError(t, plain.Unwrap())

	inner := &history.Failure{FailureKind: history.Application, Type: "declined", Message: "no", NonRetryable: true, RetryAfter: time.Second}
	wrapped := history.FailureOf(fmt.Errorf("charging: %w", inner))
	require.Equal(t, &history.Failure{FailureKind: history.Application, Type: "*fmt.wrapError", Message: "charging: no", NonRetryable: true,
		RetryAfter: time.Second, Cause: inner}, wrapped)

	// What errors.Is says of an error, it says of the failure that comes back from the log.
	for _, c := range []struct {
		err                error
		cancelled, timeout bool
	}{
		{errors.New("x"), false, false}, {history.ErrCancelled, true, false}, {fmt.Errorf("gave up: %w", history.ErrCancelled), true, false},
		{history.CancelFailure(""), true, false}, {fmt.Errorf("w: %w", history.CancelFailure("why")), true, false},
		{history.ErrTimeout, false, true}, {fmt.Errorf("late: %w", history.ErrTimeout), false, true},
		{history.TimeoutFailure(history.Heartbeat, time.Minute), false, true}, {fmt.Errorf("w: %w", history.TimeoutFailure(history.Heartbeat, time.Minute)), false, true},
		{&history.Failure{FailureKind: history.ActivityKind, Cause: history.TimeoutFailure(history.StartToClose, time.Second)}, false, true},
		{context.DeadlineExceeded, false, false},
		{errors.Join(inner, history.TimeoutFailure(history.StartToClose, time.Second)), false, true},
		{errors.Join(history.TimeoutFailure(history.StartToClose, time.Second), inner), false, true},
		{errors.Join(inner, history.CancelFailure("")), true, false},
	} {
		text, err := json.Marshal(history.FailureOf(c.err))
		require.NoError(t, err)
		again := &history.Failure{}
		require.NoError(t, json.Unmarshal(text, again))
		require.Equal(t, c.cancelled, errors.Is(again, history.ErrCancelled), "%v", c.err)
		require.Equal(t, c.timeout, errors.Is(again, history.ErrTimeout), "%v", c.err)
	}
	require.Equal(t, "activity A: no", (&history.Failure{FailureKind: history.ActivityKind, Type: "A", Message: "no"}).Error())
	require.Equal(t, "child A: no", (&history.Failure{FailureKind: history.ChildKind, Type: "A", Message: "no"}).Error())
	require.Equal(t, "panic: no", (&history.Failure{FailureKind: history.Panic, Message: "no"}).Error())
	require.Equal(t, "heartbeat timeout of 1m0s", history.TimeoutFailure(history.Heartbeat, time.Minute).Error())
	require.Error(t, (&history.Failure{}).UnmarshalJSON([]byte(`{"message":3}`)))
}

// naiveWait is RetryPolicy.Wait as its comment says it, in exact numbers.
func naiveWait(p history.RetryPolicy, n int, f *history.Failure) (time.Duration, bool) {
	switch {
	case f.NonRetryable, f.FailureKind == history.Cancel, p.MaxAttempts > 0 && n >= p.MaxAttempts:
		return 0, false
	}
	for _, name := range p.NonRetryable {
		for cause := f; cause != nil; cause = cause.Cause {
			if cause.Type == name {
				return 0, false
			}
		}
	}
	if f.RetryAfter > 0 {
		return f.RetryAfter, true
	}
	wait := new(big.Float).SetInt64(int64(time.Second))
	if p.InitialInterval > 0 {
		wait.SetInt64(int64(p.InitialInterval))
	}
	most := new(big.Float).Mul(wait, big.NewFloat(100))
	if p.MaxInterval > 0 {
		most.SetInt64(int64(p.MaxInterval))
	}
	growth := big.NewFloat(2)
	if p.BackoffCoefficient >= 1 {
		growth.SetFloat64(p.BackoffCoefficient)
	}
	for i := 1; i < n && wait.Cmp(most) < 0; i++ {
		wait.Mul(wait, growth)
	}
	if wait.Cmp(most) > 0 {
		wait = most
	}
	if wait.Cmp(big.NewFloat(math.MaxInt64)) >= 0 {
		return math.MaxInt64 / 100 * 100, true // no run waits for 292 years
	}
	nanoseconds, _ := wait.Int64()
	return time.Duration(nanoseconds), true
}

func TestRetryPolicyWait(t *testing.T) {
	same := func(initial, maximum int64, coefficient float64, attempts, n uint8, after int32, permanent bool, which uint8) bool {
		types := []string{"", "declined", "wrapped"}
		p := history.RetryPolicy{InitialInterval: time.Duration(initial), MaxInterval: time.Duration(maximum), BackoffCoefficient: math.Abs(math.Mod(coefficient, 8)),
			MaxAttempts: int(attempts % 20), NonRetryable: types[1:]}
		if which%4 == 3 {
			p = history.RetryPolicy{}
		}
		f := &history.Failure{Type: types[int(which)%2], NonRetryable: permanent && which%2 == 0, RetryAfter: time.Duration(max(after, 0)) * time.Duration(which%2)}
		if which%8 == 5 {
			f = &history.Failure{Type: "outer", Cause: &history.Failure{Type: types[2]}}
		}
		wait, again := p.Wait(int(n)+1, f)
		want, wantAgain := naiveWait(p, int(n)+1, f)
		near := float64(wait-want) <= 1+1e-9*float64(want) && float64(want-wait) <= 1+1e-9*float64(want)
		if again != wantAgain || !near {
			t.Logf("%+v, attempt %d, %+v: %v %v, not %v %v", p, int(n)+1, f, wait, again, want, wantAgain)
		}
		return again == wantAgain && near && wait >= 0
	}
	require.NoError(t, quick.Check(same, &quick.Config{MaxCount: 20_000}))

	var zero history.RetryPolicy
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 7: 64 * time.Second, 8: 100 * time.Second, 1_000_000: 100 * time.Second} {
		wait, again := zero.Wait(n, &history.Failure{})
		require.True(t, again)
		require.Equal(t, want, wait)
	}
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -3} {
		p := history.RetryPolicy{BackoffCoefficient: odd}
		wait, _ := p.Wait(3, &history.Failure{})
		require.Positive(t, wait)
		command := &history.ScheduleActivity{Options: history.ActivityOptions{Retry: p}}
		again, err := history.DecodeCommand(history.EncodeCommand(command))
		require.NoError(t, err, "coefficient %v", odd)
		require.Equal(t, p.String(), again.(*history.ScheduleActivity).Options.Retry.String(), "replay would take it for another policy")
	}
}

func TestKeys(t *testing.T) {
	keys := map[string]bool{}
	for _, event := range []history.Event{&history.Started{}, &history.ActivityResolved{Seq: 1}, &history.TimerFired{Seq: 1}, history.NewSignal("a", "", nil)} {
		keys[event.Key(2)] = true
	}
	require.Len(t, keys, 4)
	require.Equal(t, (&history.ChildResolved{Seq: 1}).Key(2), (&history.ActivityResolved{Seq: 1}).Key(2), "one command has one answer")
	require.Equal(t, history.NewSignal("a", "b", nil).Key(1), history.NewSignal("a", "b", history.Payload("1")).Key(2), "a message belongs to the run")
	messages := map[string]bool{}
	for _, message := range []history.Mail{history.NewSignal("a", "b", nil), history.NewSignal("a", "b#c", nil), history.NewSignal("a", "c", nil),
		history.NewUpdate("a", "b", nil), history.NewCancel("a", ""), history.NewTerminate("a", ""), history.NewReset("a", 1, 1, "")} {
		messages[history.MessageName(message)] = true
	}
	require.Len(t, messages, 7, "an id belongs to one message of a kind and a name")
	require.NotEqual(t, (&history.TimerFired{Seq: 1}).Key(1), (&history.TimerFired{Seq: 1}).Key(2))
	require.Equal(t, "activity-7", numbered(7, &history.ScheduleActivity{}).Name())
	require.Equal(t, "mine", (&history.ScheduleActivity{ID: "mine"}).Name())
}
