package script_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/script"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// TestPlacesOfNondeterminism: a report names the places of the recorded and of the attempted call.
func TestPlacesOfNondeterminism(t *testing.T) {
	env := workflowtest.New(t)
	mock(env, "one", func(_ context.Context, in payload) (payload, error) { return in, nil })
	mock(env, "two", func(_ context.Context, in payload) (payload, error) { return in, nil })
	_, err := workflowtest.Run(env, mustParse(t, "async function f() {\n  await Task.run('one');\n  await Task.run('two');\n}"), payload("null"))
	require.NoError(t, err)
	log := workflowtest.Export(env)
	changed := mustParse(t, "async function f() {\n  await Task.run('one');\n\n\n    await Task.run('too');\n}")
	report := func() (text string) {
		defer func() { text = fmt.Sprint(recover()) }()
		workflowtest.Replay(workflowtest.Panic, log, changed)
		return ""
	}()
	require.Contains(t, report, "called at: test.js:3:")
	require.Contains(t, report, "called at: test.js:5:")
}

// TestPlacesOfFailures: a failure has the script's stack, also where a task's failure was not caught,
// and in the workflow spelling, which is longer where it is compiled.
func TestPlacesOfFailures(t *testing.T) {
	for source, want := range map[string]string{
		"async function f() {\n  throw new TypeError('oh');\n}":                                                                     "f (test.js:2:22)",
		"async function f() {\n  g();\n}\nfunction g() {\n null.x }":                                                                "g (test.js:5:6)\nf (test.js:2:4)",
		"workflow f(a) { throw new Error('oh') }":                                                                                   "f (test.js:1:32)",
		"workflow f(\n a) { throw new Error('oh') }":                                                                                "f (test.js:2:22)",
		"async function f() {\n  await Task.run('fail');\n}":                                                                        "f (test.js:2:17)",
		"async function f() {\n  await Task.all([1, 2].map(() => Task.run('fail')));\n}":                                            "<anonymous> (test.js:2:43)\nf (test.js:2:28)",
		"async function test() {\n  await g();\n}\nasync function g() {\n await 1; h() }\nconst h = () => { throw new Error('x') }": "h (test.js:6:34)\ng (test.js:5:12)",
	} {
		t.Run(source, func(t *testing.T) {
			env := workflowtest.New(t)
			mock(env, "fail", func(context.Context, payload) (payload, error) { return nil, errors.New("no") })
			_, err := workflowtest.Run(env, mustParse(t, source), payload("null"))
			failure := (*history.Failure)(nil)
			require.ErrorAs(t, err, &failure)
			require.Equal(t, want, failure.Stack)
		})
	}
}

func TestSpelling(t *testing.T) {
	_, err := script.Parse("test", "workflow f(a) { return b }")
	require.EqualError(t, err, "1:24: unknown name b: did you mean a?")
	_, err = script.Parse("test", "  workflow f(a) { return @ }")
	require.ErrorContains(t, err, "1:26: ")
}
