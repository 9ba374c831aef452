package flow

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

const positions = `{"start": "fan", "nodes": {
	"fan": {"kind": "foreach", "service": "go:same", "failure_strategy": "ignore_errors", "prep": {"input_key": "$params.list"}, "post": {"output_key": "out", "action_static": "ok"}},
	"sub": {"kind": "subflow", "subflow": {"start": "wait", "nodes": {"wait": {"kind": "wait_event", "params": {"signal_key": "$shared.go", "timeout_ms": 5000}}}}, "post": {"output_key": "sub"}}
}, "edges": [{"from": "fan", "action": "ok", "to": "sub"}]}`

// from runs the flow from a position, as the second generation of a run does.
func from(t *testing.T, d *Definition, position string) (string, error) {
	t.Helper()
	env := workflowtest.New(t)
	env.SkipReplay = true
	env.At(time.Hour, func() {
		if workflowtest.State[State](env).Node != "" {
			workflowtest.Cancel(env, "")
		}
	})
	workflowtest.Mock(env, activity.Declare[json.RawMessage, json.RawMessage]("same"),
		func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
			if string(input) == `"bad"` {
				return nil, errors.New("bad")
			}
			return input, nil
		})
	second := workflow.New("second",
		func(ctx workflow.Context, input history.Payload) (history.Payload, error) {
			p, err := begin(d, []byte(input), 2)
			return d.resume(ctx, p, err)
		})
	result, err := workflowtest.Run(env, second, history.Payload(position))
	return string(result), err
}

// S4.47 S4.48 S4.52: a run continues where the generation before it left off.
func TestPositions(t *testing.T) {
	d, err := Parse([]byte(positions))
	require.NoError(t, err)
	for position, want := range map[string]string{
		`{"_rt": {"params": {}, "steps": 1, "frame": {"node": "fan", "step": 1, "shared": {"x": 1, "go": 2}, "now": {"input": [1, 2, 3], "fan": {"next": 2, "results": ["a", null], "errors": {"1": "bad"}}}}}}`: `{"go":2,"out":["a",null,3],"sub":{},"x":1}`,
		`{"_rt": {"frame": {"node": "sub", "shared": {"go": 2}, "now": {"sub": {"node": "wait", "shared": {"y": 1}, "now": {}}}}}}`:                                                                              `{"go":2,"sub":{"y":1}}`,
	} {
		result, err := from(t, d, position)
		require.NoError(t, err)
		require.Equal(t, want, result)
	}
	// A failure of the generation before counts, and its slot is not a success.
	d, err = Parse([]byte(strings.Replace(positions, "ignore_errors",
		`fail_fast", "tolerated_failure_count": 1, "x-y": "`, 1)))
	require.NoError(t, err)
	result, err := from(t, d,
		`{"_rt": {"frame": {"node": "fan", "shared": {"go": 1}, "now": {"input": [1, 2, "bad", 4], "fan": {"next": 2, "results": [null, null], "errors": {"1": "bad"}}}}}}`)
	require.NoError(t, err)
	require.Equal(t, `{"go":1,"out":[null],"sub":{}}`, result)
	// A timer ends when it was due before.
	d, err = Parse([]byte(
		`{"start": "n", "nodes": {"n": {"kind": "timer", "params": {"delay_ms": 86400000}}}}`))
	require.NoError(t, err)
	_, err = from(t, d, `{"_rt": {"frame": {"node": "n", "now": {"entered": "2026-01-01T00:00:00Z", "due": "2026-01-01T00:00:05Z"}}}}`)
	require.NoError(t, err, "canceled after an hour")

	d, err = Parse([]byte(positions))
	require.NoError(t, err)
	for position, want := range map[string]string{
		`{"_rt": null}`:                        "cannot be read",
		`{"_rt": 3}`:                           "cannot be read",
		`{"_rt": {}}`:                          "is empty",
		`{"_rt": {"frame": {"node": "gone"}}}`: `node "gone", which this version of the definition does not have`,
		`{"_rt": {"frame": {"node": "fan", "now": {"sub": {"node": "wait"}}}}}`:           "without a subflow in this version",
		`{"_rt": {"frame": {"node": "fan", "now": {"fan": {"next": 7}}}}}`:                "does not fit its input",
		`{"_rt": {"frame": {"node": "fan", "now": {"input": [1], "fan": {"next": -1}}}}}`: "does not fit its input",
		`{"_rt": {"frame": {"node": "sub", "now": {"sub": {"node": "gone"}}}}}`:           "does not have",
	} {
		_, err := from(t, d, position)
		require.ErrorContains(t, err, want, position)
	}
}

// FuzzPosition: no position, however it was made, makes the interpreter panic or run without an
// end.
func FuzzPosition(f *testing.F) {
	d, err := Parse([]byte(positions))
	require.NoError(f, err)
	for _, position := range []string{
		`{"_rt": {"params": {"list": [1]}, "steps": 3, "last": "x", "frame": {"node": "fan", "step": 1, "shared": {"x": 1}, "now": {"input": [1, 2], "entered": "2026-01-01T00:00:00Z", "fan": {"next": 1, "results": ["a"], "errors": {"0": "bad"}}}}}}`,
		`{"_rt": {"frame": {"node": "sub", "shared": {"go": false}, "now": {"retries": 4, "sub": {"node": "wait", "shared": {}, "input": 1, "now": {"due": "2026-01-01T00:00:05Z"}}}}, "rows": [{"id": 7}], "dropped": 6}}`, `{"list": [1, 2]}`,
	} {
		f.Add([]byte(position))
	}
	f.Fuzz(func(t *testing.T, position []byte) {
		if json.Valid(position) && len(position) < 10_000 {
			_, _ = from(t, d, string(position))
		}
	})
}
