package script_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type payload = history.Payload

var (
	add   = workflow.NewUpdate[payload, payload]("add")
	items = workflow.NewQuery[payload, payload]("items")
	done  = workflow.NewSignal[payload]("done")
	note  = workflow.NewSignal[payload]("note")
)

const basket = `
async function basket(inputs) {
  const items = [];
  let over = false;
  Workflow.onUpdate("add", async (item) => {
    const priced = await Task.run("price", item);
    items.push(priced);
    return items.length;
  }, { validate: (item) => { if (item === "bad") throw new RangeError("no such item") } });
  Workflow.onQuery("items", () => items);
  Workflow.onSignal("note", (text) => { items.push("note " + text) });
  wait_for_signal("done").then(() => { over = true });
  const intime = await Workflow.condition(() => over, 3600);
  return { items, intime };
}`

func TestMessages(t *testing.T) {
	env := workflowtest.New(t)
	mock(env, "price", func(_ context.Context, in payload) (payload, error) {
		return payload(`{"item":` + string(in) + `}`), nil
	})
	env.At(time.Second, func() {
		_, err := workflowtest.Query(env, items, payload("null"))
		require.NoError(t, err)
		workflowtest.Update(env, add, payload(`"tea"`))
		rejected := workflowtest.Update(env, add, payload(`"bad"`))
		env.At(2*time.Second, func() {
			_, err := rejected.Result()
			require.ErrorContains(t, err, "no such item")
		})
		workflowtest.Signal(env, note, payload(`"hello"`))
	})
	env.At(time.Minute, func() {
		now, err := workflowtest.Query(env, items, payload("null"))
		require.NoError(t, err)
		require.JSONEq(t, `["note hello",{"item":"tea"}]`, string(now))
		workflowtest.Signal(env, done, payload("null"))
	})
	result, err := workflowtest.Run(env, mustParse(t, basket), payload("null"))
	require.NoError(t, err)
	require.JSONEq(t, `{"items":["note hello",{"item":"tea"}],"intime":true}`, string(result))
}

func TestCancel(t *testing.T) {
	for name, test := range map[string]struct{ source, result string }{
		"ends the run":      {source: `async function f() { await Task.delay(3600) }`},
		"is caught":         {`async function f() { try { await Task.delay(3600) } catch (e) { return e.name } }`, `"CancelledError"`},
		"of a signal":       {`async function f() { try { await wait_for_signal("x") } catch (e) { return e.name } }`, `"CancelledError"`},
		"of a task":         {`async function f() { try { await Task.run("slow") } catch (e) { return e.name } }`, `"CancelledError"`},
		"of all":            {`async function f() { try { await Task.all([Task.run("slow"), Task.delay(9999)]) } catch (e) { return e.name } }`, `"CancelledError"`},
		"of race":           {`async function f() { const r = await Task.race([Task.delay(9999), wait_for_signal("x")]); return [r.status, r.error.name] }`, `["failed","CancelledError"]`},
		"new work fails":    {`async function f() { try { await Task.delay(3600) } finally { try { await Task.run("quick") } catch (e) { return e.name } } }`, `"CancelledError"`},
		"shielded work":     {`async function f() { try { await Task.delay(3600) } finally { return await Workflow.shield(async ({ Task }) => { await Task.delay(5); return Task.run("quick", 7) }) } }`, `7`},
		"of a handle":       {`async function f() { const d = Task.delay(9999); d.cancel(); try { await d } catch (e) { await Task.delay(99).catch(() => {}); return e.name } }`, `"CancelledError"`},
		"a condition stays": {`async function f() { let c = false; Task.delay(3600).catch(() => { c = true }); await Workflow.condition(() => c); return "seen" }`, `"seen"`},
	} {
		t.Run(name, func(t *testing.T) {
			env := workflowtest.New(t)
			mock(env, "slow", func(ctx context.Context, in payload) (payload, error) {
				return in, workflowtest.Sleep(ctx, 2*time.Hour)
			})
			mock(env, "quick", func(ctx context.Context, in payload) (payload, error) { return in, nil })
			env.At(time.Minute, func() { workflowtest.Cancel(env, "enough") })
			result, err := workflowtest.Run(env, mustParse(t, test.source), payload("null"))
			if test.result == "" {
				require.True(t, errors.Is(err, workflow.ErrCancelled), "%v", err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.result, string(result))
		})
	}
}
