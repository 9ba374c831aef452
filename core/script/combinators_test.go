package script_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// TestCombinators runs all, any and race over tasks, timers, signals and nested calls that succeed,
// fail or are canceled (S2.17-S2.21, S2.25). The environment replays each run after each activation,
// and holds the replay against the first execution.
func TestCombinators(t *testing.T) {
	first := map[string]string{ // of two of a kind, the first to end
		"tasks":   `Task.run("echo", 1), Task.run("slow", 2)`,
		"timers":  `Task.delay(1).then(() => 1), Task.delay(2).then(() => 2)`,
		"signals": `wait_for_signal("one"), wait_for_signal("two")`,
		"nested":  `Task.all([Task.run("echo", 1), Task.delay(1)]).then(([one]) => one), Task.race([Task.run("slow", 2), Task.delay(99)]).then((won) => won.result)`,
	}
	failing := map[string]string{
		"tasks":   `Task.run("fail", "a"), Task.run("slow", 2)`,
		"timers":  `Task.delay(1).then(() => { throw new Error("fail a") }), Task.delay(60).then(() => 2)`,
		"signals": `wait_for_signal("one").then(() => { throw new Error("fail a") }), wait_for_signal("two")`,
		"nested":  `Task.all([Task.run("fail", "a"), Task.delay(1)]), Task.any([Task.run("fail", "b"), Task.run("slow", 2)]).then((won) => won.result)`,
	}
	want := map[string]map[string]string{
		"success": {"all": `[1,2]`, "any": `1`, "race": `["completed",1]`},
		"failure": {"all": `"fail a"`, "any": `2`, "race": `["failed","fail a"]`},
		"cancel":  {"all": `"CancelledError"`, "any": `"AggregateError"`, "race": `["failed","CancelledError"]`},
	}
	unwrap := map[string]string{"all": `won`, "any": `won.result`, "race": `[won.status, won.result ?? (won.error.name === "CancelledError" ? won.error.name : won.error.message)]`}
	for how, results := range want {
		for _, kind := range []string{"tasks", "timers", "signals", "nested"} {
			for combinator, result := range results {
				t.Run(fmt.Sprintf("%s of %s, %s", combinator, kind, how), func(t *testing.T) {
					of := first[kind]
					if how == "failure" {
						of = failing[kind]
					}
					if how == "cancel" {
						of = map[string]string{"tasks": `Task.run("slow"), Task.run("slow")`, "timers": `Task.delay(9999), Task.delay(9999)`,
							"signals": `wait_for_signal("never"), wait_for_signal("never")`,
							"nested":  `Task.all([Task.delay(9999), wait_for_signal("never")]), Task.all([Task.delay(9999)])`}[kind]
					}
					caught := `e.message`
					if how == "cancel" {
						caught = `e.name`
					}
					source := fmt.Sprintf("async function f() {\nlet out; try { const won = await Task.%s([%s]); out = %s } catch (e) { out = %s }\n"+
						"await Task.delay(100).catch(() => {}); return out\n}", combinator, of, unwrap[combinator], caught)
					require.Equal(t, result, combined(t, source, how == "cancel"))
				})
			}
		}
	}
}

func combined(t *testing.T, source string, cancel bool) string {
	t.Helper()
	env := workflowtest.New(t)
	mock(env, "echo", func(_ context.Context, in payload) (payload, error) { return in, nil })
	mock(env, "slow", func(ctx context.Context, in payload) (payload, error) {
		return in, workflowtest.Sleep(ctx, 30*time.Second)
	})
	mock(env, "fail", func(_ context.Context, in payload) (payload, error) {
		return nil, activity.NonRetryable(activity.Fail("bad", "fail %s", string(in[1:len(in)-1])))
	})
	if cancel {
		env.At(time.Second, func() { workflowtest.Cancel(env, "enough") })
	} else {
		env.At(10*time.Second, func() { workflowtest.Signal(env, workflow.NewSignal[int]("one"), 1) })
		env.At(20*time.Second, func() { workflowtest.Signal(env, workflow.NewSignal[int]("two"), 2) })
	}
	result, err := workflowtest.Run(env, mustParse(t, source), payload("null"))
	require.NoError(t, err)
	return string(result)
}
