package script_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// TestExamplesOfSeed002 runs the document's examples as they stand there. Statements without a
// workflow around them have one here. The race has the assignment that S2.22 adds.
func TestExamplesOfSeed002(t *testing.T) {
	for name, test := range map[string]struct{ source, result string }{
		"process_data": {`workflow example(inputs) {
  result = await Task.run("process_data", inputs)
  // Workflow needs to resume here when task completes
  return result
}`, `{"n":1}`},
		"all": {`workflow example(inputs) {
  task1 = Task.run("api1", inputs)
  task2 = Task.run("api2", inputs)
  task3 = Task.delay(30)
  results = await Task.all([task1, task2, task3])
  return results
}`, `["api1","api2",null]`},
		"delay": {`workflow example(inputs) {
  await Task.delay(30)
}`, ``},
		"any": {`workflow example(inputs) {
fastest = await Task.any([
  Task.run("api1", inputs),
  Task.run("api2", inputs),
  Task.run("api3", inputs)
])
// Returns first successful result
return fastest
}`, `{"item_id":"task-2","index":1,"result":"api2"}`},
		"race": {`workflow example(inputs) {
result = await Task.race([
  Task.run("operation", inputs),
  timeout_timer = Task.delay(30)  // Timeout
])

if (result.item_id == timeout_timer) {
  return {error: "Operation timed out"}
}
}`, `{"error":"Operation timed out"}`},
		"signal": {`workflow example(inputs) {
approval = await wait_for_signal("approval")
return approval
}`, `"yes"`},
	} {
		t.Run(name, func(t *testing.T) {
			env := workflowtest.New(t)
			mock(env, "process_data", func(_ context.Context, in payload) (payload, error) { return in, nil })
			answersAfter(env, "api1", 20*time.Second)
			answersAfter(env, "api2", 10*time.Second)
			answersAfter(env, "operation", time.Minute)
			mock(env, "api3", func(context.Context, payload) (payload, error) {
				return nil, activity.NonRetryable(activity.Fail("down", "api3 is down"))
			})
			if name == "signal" {
				env.At(time.Hour, func() {
					workflowtest.Signal(env, workflow.NewSignal[string]("approval"), "yes")
				})
			}
			result, err := workflowtest.Run(env, mustParse(t, test.source), payload(`{"n":1}`))
			require.NoError(t, err)
			require.Equal(t, test.result, string(result))
		})
	}
}

// answersAfter has a task answer with its own name.
func answersAfter(env *workflowtest.Env, task string, wait time.Duration) {
	mock(env, task, func(ctx context.Context, _ payload) (payload, error) {
		return payload(`"` + task + `"`), workflowtest.Sleep(ctx, wait)
	})
}
