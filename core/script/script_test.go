package script_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/script"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

func mock(env *workflowtest.Env, name string, run func(context.Context, history.Payload) (history.Payload, error)) {
	workflowtest.Mock(env, activity.Declare[history.Payload, history.Payload](script.Prefix+name), run)
}

func mustParse(t *testing.T, source string) *workflow.Workflow[history.Payload, history.Payload] {
	t.Helper()
	s, err := script.Parse("test", source)
	require.NoError(t, err)
	return s.Workflow("test")
}

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		source, input, result, failure string
	}{
		"S2.15":           {source: `workflow example(inputs) { result = await Task.run("double", inputs.n); return result }`, input: `{"n":4}`, result: `8`},
		"returns nothing": {source: `async function f() { }`, input: `null`, result: ``},
		"all":             {source: `async function f(n) { return await Task.all([1,2,3].map(i => Task.run("double", i))) }`, input: `null`, result: `[2,4,6]`},
		"catch":           {source: `async function f(n) { try { await Task.run("fail", "x") } catch (e) { return [e.name, e.message, e.type, e.task] } }`, input: `null`, result: `["TaskError","no x","bad","fail"]`},
		"uncaught":        {source: "async function f(n) {\n  await Task.run('fail', 'x') }", input: `null`, failure: "activity task:fail: no x"},
		"throws":          {source: "async function f(n) {\n  throw new TypeError('oh') }", input: `null`, failure: "oh"},
		"delay":           {source: `async function f(n) { const a = Workflow.now(); await Task.delay(30.5); return Workflow.now() - a }`, input: `null`, result: `30500`},
		"S2.22":           {source: `workflow f(n) { timeout_timer = Task.delay(30); winner = await Task.race([Task.run("slow", 1), timeout_timer]); return winner.item_id == timeout_timer }`, input: `null`, result: `true`},
		"loop":            {source: `async function f(n) { let s = 0; for (let i = 0; i < 5; i++) s += await Task.run("double", i); return s }`, input: `null`, result: `20`},
		"thousand":        {source: `async function f(n) { const all = await Task.all(Array.from({length: 1000}, (_, i) => Task.run("double", i))); return all.reduce((a, b) => a + b, 0) }`, input: `null`, result: `999000`},
	} {
		t.Run(name, func(t *testing.T) {
			env := workflowtest.New(t)
			env.SkipReplay = name == "thousand" // it would replay the log a thousand times
			mock(env, "double", func(_ context.Context, in history.Payload) (history.Payload, error) {
				n, err := history.Decode[int](in)
				require.NoError(t, err)
				return history.Encode(2 * n)
			})
			mock(env, "fail", func(_ context.Context, in history.Payload) (history.Payload, error) {
				return nil, activity.NonRetryable(activity.Fail("bad", "no x"))
			})
			mock(env, "slow", func(ctx context.Context, in history.Payload) (history.Payload, error) {
				return in, workflowtest.Sleep(ctx, time.Minute)
			})
			result, err := workflowtest.Run(env, mustParse(t, test.source), history.Payload(test.input))
			if test.failure != "" {
				require.ErrorContains(t, err, test.failure)
				f := (*history.Failure)(nil)
				require.True(t, errors.As(err, &f))
				t.Log(f.Stack)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.result, string(result))
		})
	}
}

func TestProblems(t *testing.T) {
	for source, want := range map[string][]string{
		"async function f() {\n  let a = ;\n  Task.rum(x)\n  let b = @;\n}":                     {"2:11: unexpected token in expression: ';'", "4:11: unexpected character"},
		"async function f() {\n  return resul + inputs\n}":                                      {"2:10: unknown name resul", "2:18: unknown name inputs"},
		"async function f(inputs) {\n  result = await Taks.run('x')\n return inptus }":          {"2:3: unknown name result: declare it, let result", "2:18: unknown name Taks: did you mean Task?", "3:9: unknown name inptus: did you mean inputs?"},
		"workflow f(inputs) {\n  result = await Task.run('x')\n return result }":                nil,
		"workflow f(inputs) {  return inptus }":                                                 {"1:30: unknown name inptus: did you mean inputs?"},
		"workflow(ctx, inputs) { }":                                                             {"1:1: a workflow has a name, and takes its inputs alone: write workflow test(inputs) {…}"},
		"function f() {}":                                                                       {"the script has no workflow: write async function test(inputs) {…} at its top level"},
		"async function f() {}; async function g() {}":                                          {"which of the functions f, g is the workflow? Name it like the definition, test"},
		"async function f() { for await (const x of [1]) { console.log(x) } setTimeout(f, 1) }": {"1:68: a script has no setTimeout: await Task.delay(seconds)"},
		"async function f({ a, b: { c = 1, ...d }, e: [g] }, ...h) { const { i } = a; for (const j of c) d(j, g, h, i); class K { #l = 1; m() { return this.#l } }; label: for (;;) break label; try { } catch (n) { n } return { o: new K(), a, arguments } }": nil,
	} {
		t.Run(source, func(t *testing.T) {
			_, err := script.Parse("test", source)
			var problems script.Problems
			errors.As(err, &problems)
			var texts []string
			for _, p := range problems {
				texts = append(texts, script.Problems{p}.Error())
			}
			require.Equal(t, want, texts)
		})
	}
}
