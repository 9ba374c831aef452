package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/script"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
	"github.com/reprise-run/reprise/tests/mutation"
)

// hostile scripts, and what their runs are blocked or fail with. Each must end soon: the test's own
// time limit is the judge.
var hostile = map[string]string{
	`for (;;) {}`: "computed for",
	`try { for (;;) {} } catch { for (;;) {} } finally { for (;;) {} }`: "computed for",
	`for (;;) await 1`: "computed for",
	`const f = () => Promise.resolve().then(f); await f(); await new Promise(() => {})`: "panicked",
	`const f = () => f() + 1; f()`:                                                                   "too deeply",
	`let x = []; for (let i = 0; i < 3e5; i++) x = [x]; JSON.stringify(x)`:                           "panicked",
	`let s = "x"; for (;;) s += s + s.length`:                                                        "string too long",
	`"x".repeat(1 << 29)`:                                                                            "32 MB of memory",
	`const a = []; for (;;) a.push("x".repeat(1000) + a.length)`:                                     "panicked",
	`const m = new Map(); for (let i = 0; ; i++) m.set(i, {})`:                                       "panicked",
	`new Uint8Array(1e9)`:                                                                            "32 MB of memory",
	`[...(function* () { for (;;) yield 1 })()]`:                                                     "panicked",
	`/(x+x+)+y/.test("x".repeat(100))`:                                                               "computed for",
	`"a".repeat(1e6).match(/(a*)*b/)`:                                                                "computed for",
	`const a = []; a.length = 4294967295; a.indexOf(3)`:                                              "indexOf of 4294967295 elements",
	`const a = []; a.length = 4294967295; a.reverse()`:                                               "reverse of 4294967295 elements",
	`new Array(1e9).join("x")`:                                                                       "join of 1000000000 elements",
	`new Array(4e9).forEach(() => 1)`:                                                                "forEach of 4000000000 elements",
	`Array.from({ length: 1e9 })`:                                                                    "Array.from of 1000000000 elements",
	`Array.prototype.includes.call({ length: 2 ** 53 - 2 }, 1)`:                                      "includes of 9007199254740990 elements",
	`Array.prototype.includes.call({ get length() { return 4e9 } }, 1)`:                              "length is a getter",
	`Array.prototype.includes.call({ __proto__: { length: 4e9 } }, 1)`:                               "length is not its own",
	`Array.prototype.includes.call({ length: { valueOf: () => 4e9 } }, 1)`:                           "length is not a number",
	`Array.prototype.includes.call({ length: "4e9" }, 1)`:                                            "includes of 4000000000 elements",
	`[].concat(...Array(60000).fill(Array(60000)))`:                                                  "concat of 3600000000 elements",
	`const a = Array(4e6); [a, a, a, a, a, a, a, a, a, a].flat(); for (;;) [a, a].flat()`:            "computed for",
	`String.raw({ raw: { length: 1e9 } })`:                                                           "String.raw of 1000000000 elements",
	`"a".repeat(1e7).indexOf("a".repeat(5e6) + "b")`:                                                 "the text is too long",
	`"\u0315\u0300".repeat(1e6).normalize("NFD")`:                                                    "combining marks",
	`(2n ** 1000000n).toString()`:                                                                    "more than 100000 digits",
	`let a = [1]; for (let i = 0; i < 30; i++) a = [a, a]; JSON.stringify(a)`:                        "computed for",
	`({ toJSON() { for (;;) {} } }); JSON.stringify({ toJSON() { for (;;) {} } })`:                   "computed for",
	`const o = { toString() { for (;;) {} } }; "" + o`:                                               "computed for",
	`Object.defineProperty(Array.prototype, "0", { set() { for (;;) {} } }); const a = []; a[0] = 1`: "computed for",
	`Object.getPrototypeOf(async () => {}).constructor("return 1")`:                                  "cannot make code of text",
	`(() => {}).constructor("return 1")`:                                                             "cannot make code of text",
	`return globalThis["ev" + "al"]("1")`:                                                            "not a function",
	`return new globalThis["Pro" + "xy"]({}, {})`:                                                    "not a function",
	`await new Promise(() => {})`:                                                                    "nothing settles",
	`Promise.prototype.then = function () { for (;;) {} }; await Task.delay(1)`:                      "",
	`Object.prototype.scope = 7; Object.prototype.options = 8; await Task.delay(1)`:                  "",
	`Array.prototype.push = Map.prototype.set = Map.prototype.get = undefined; await Task.delay(1)`:  "not a function",
	`globalThis.Task = globalThis.Promise = undefined; await 1`:                                      "",
	`JSON.stringify = JSON.parse = () => { for (;;) {} }; await Task.delay(1)`:                       "",
	`throw { get message() { for (;;) {} } }`:                                                        "computed for",
	`const e = new Error("x"); e.toJSON = () => { throw e }; throw e`:                                "x",
	`throw Symbol("x")`:                         "",
	`return 1n`:                                 "BigInt",
	`const a = {}; a.a = a; return a`:           "circular reference",
	`await Task.run("t", { a: 1n })`:            "BigInt",
	`await Task.run({})`:                        "Task.run",
	`await Task.delay(NaN)`:                     "Task.delay takes seconds",
	`await Task.delay(1e99)`:                    "Task.delay takes seconds",
	`await Task.race([])`:                       "Task.race of no tasks",
	`await Task.run("t", 1, { retries: 3 })`:    `has no option "retries"`,
	`let t = {}; t.then = (r) => r(t); await t`: "computed for",
	`class A {} let c = A; for (let i = 0; i < 1e5; i++) c = class extends c {}; new c()`: "panicked",
	`let p = () => 1; for (let i = 0; i < 3e5; i++) p = p.bind(null); p()`:                "32 MB of memory",
	`for (let i = 0; i < 1e6; i++) Task.delay(1)`:                                         "",
}

func TestHostileScripts(t *testing.T) {
	if mutation.UnderRace {
		t.Skip("the race detector has the engine take ten times as long: make test-race runs this after it")
	}
	for code, want := range hostile {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			made, err := script.Parse("test", "async function hostile() {\n\t"+code+"\n}")
			require.NoError(t, err)
			made.ShortenTurns(2 * time.Second)
			text := blockedOrFailed(made.Workflow("test"))
			t.Log(text)
			require.Contains(t, text, want)
		})
	}
}

// blockedOrFailed runs a workflow, and says what its run was blocked by or failed with.
func blockedOrFailed(w *workflow.Workflow[history.Payload, history.Payload]) (text string) {
	defer func() {
		if blocked := recover(); blocked != nil {
			text = fmt.Sprint(blocked)
		}
	}()
	_, err := workflowtest.Run(workflowtest.New(workflowtest.Panic), w, history.Payload("null"))
	return fmt.Sprint(err)
}
