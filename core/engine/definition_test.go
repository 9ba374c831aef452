package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// A source of these tests is a list of words: "double" doubles the number that the workflow has,
// "wait" waits for a signal, "again" continues as new once, "child NAME" starts a child. "again"
// and "child NAME" may name a version.
func interpretWords(name, source string) (workflow.Definition, error) {
	words := strings.Split(source, ", ")
	known := []string{"double", "wait", "again", "child"}
	for _, word := range words {
		if verb, _, _ := strings.Cut(word, " "); !slices.Contains(known, verb) {
			return nil, fmt.Errorf("the word %q is not known", word)
		}
	}
	versionOf := func(given string) int {
		if given == "latest" {
			return workflow.LatestDefinition
		}
		version, _ := strconv.Atoi(given)
		return version
	}
	var run func(ctx workflow.Context, n int) (int, error)
	run = func(ctx workflow.Context, n int) (int, error) {
		for _, word := range words {
			var err error
			switch verb, of, _ := strings.Cut(word, " "); verb {
			case "double":
				n, err = workflow.Execute(ctx, callDouble, n)
			case "wait":
				_, err = workflow.AwaitSignal(ctx, goSignal)
			case "again":
				if n < 100 {
					options := workflow.ContinueOptions{Definition: versionOf(of)}
					return workflow.ContinueAsNewWith(ctx, options, run, n+100)
				}
			case "child":
				child, version, _ := strings.Cut(of, " ")
				options := workflow.ChildOptions{Definition: versionOf(version)}
				n, err = workflow.ExecuteChild(ctx, workflow.Declare[int, int](child).With(options),
					n)
			}
			if err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	return workflow.New(name, run), nil
}

// publishing runs a test in a world that interprets lists of words.
func publishing(t *testing.T, test func(w *world)) {
	t.Helper()
	inBoth(t, func(w *world) []workflow.Definition {
		return []workflow.Definition{w.double()}
	}, func(w *world) {
		w.adjust = func(_ string, c *engine.Config) {
			c.Interpreters = map[string]engine.Interpreter{"words": interpretWords}
		}
		test(w)
	})
}

func (w *world) tryPublish(
	request engine.PublishRequest,
) (definition *port.Definition, created bool, err error) {
	request.Kind, request.Publisher = "words", "ada"
	err = w.api(func(ctx context.Context, e *engine.Engine) (err error) {
		definition, created, err = e.Publish(ctx, request)
		return err
	})
	return definition, created, err
}

func (w *world) publish(name, source string) {
	w.t.Helper()
	_, created, err := w.tryPublish(engine.PublishRequest{Name: name, Source: source})
	require.NoError(w.t, err)
	require.True(w.t, created)
}

// replaced has other processes take over, which know nothing.
func (w *world) replaced() {
	w.locked(func() {
		for _, p := range w.processes {
			p.dead = true
		}
	})
}

func (w *world) pinnedTo(run string, version int) {
	w.t.Helper()
	summary := w.summary(run)
	require.Equal(w.t, version, summary.Definition, w.show(run))
	log := w.log(run, summary.Generation)
	require.NotEmpty(w.t, log)
	require.Equal(w.t, version, log[0].Events[0].(*history.Started).Definition)
}

func (w *world) result(run, want string) {
	w.t.Helper()
	w.settle()
	require.Equal(w.t, history.Completed, w.summary(run).Status, w.show(run))
	require.Equal(w.t, want, string(w.summary(run).Result))
}

func TestARunStaysOnItsVersion(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("main", "wait, double")
		w.start("a", "main", "1")
		w.settle()
		w.publish("main", "wait, double, double")
		w.start("b", "main", "1")
		w.settle()
		w.replaced() // other processes replay both
		for _, run := range []string{"a", "b"} {
			w.signal(run, "s", "go", `"x"`)
		}
		w.result("a", "2")
		w.result("b", "4")
		w.pinnedTo("a", 1)
		w.pinnedTo("b", 2)
	})
}

func TestContinueAsNewKeepsTheVersion(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("main", "wait, again, double")
		w.start("a", "main", "1")
		w.settle()
		w.publish("main", "double")
		w.signal("a", "s", "go", `"x"`)
		w.settle()
		w.pinnedTo("a", 1)
		require.Equal(w.t, 2, w.summary("a").Generation)
		w.signal("a", "s2", "go", `"x"`)
		w.result("a", "202")
	})
}

func TestContinueAsNewInAnotherVersion(t *testing.T) {
	for to, c := range map[string]struct {
		version int
		result  string
	}{
		"":       {1, "101"},
		"1":      {1, "101"},
		"2":      {2, "202"},
		"latest": {3, "404"},
	} {
		publishing(t, func(w *world) {
			w.publish("main", "wait, again "+to)
			w.start("a", "main", "1")
			w.settle()
			w.publish("main", "double")
			w.publish("main", "double, double")
			w.signal("a", "s", "go", `"x"`)
			w.settle()
			require.Equal(w.t, 2, w.summary("a").Generation)
			if c.version == 1 {
				w.signal("a", "s2", "go", `"x"`)
			}
			w.result("a", c.result)
			w.pinnedTo("a", c.version)
		})
	}
}

// TestAVersionThatIsNotThere: a run that continues in it, and a child of it, wait until it is.
func TestAVersionThatIsNotThere(t *testing.T) {
	for source, waits := range map[string]string{"again 2": "r", "child main 2": "r.1.0"} {
		publishing(t, func(w *world) {
			w.publish("main", source)
			w.start("r", "main", "1")
			w.settle()
			require.NotNil(w.t, w.summary(waits).Blocked)
			require.Contains(w.t, w.summary(waits).Blocked.Message,
				`needs version 2 of definition "main"`)
			w.publish("main", "double")
			w.settle()
			require.Equal(w.t, history.Completed, w.summary("r").Status, w.show("r"))
		})
	}
}

// TestContinueAsNewWithoutALatestVersion: the run waits for one, and is not tried before.
func TestContinueAsNewWithoutALatestVersion(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("main", "wait, again latest")
		w.start("r", "main", "1")
		w.settle()
		retire := func(ctx context.Context, e *engine.Engine) error {
			return e.Retire(ctx, "main", 1)
		}
		require.NoError(w.t, w.api(retire))
		w.signal("r", "s", "go", `"x"`)
		w.isBlocked(port.ReasonUnregistered,
			`workflow "main" is neither registered here nor published`)
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
			blocked, tried, err := e.UnblockOlder(ctx, port.Deployment{Version: "1"})
			require.Equal(w.t, []int{1, 0}, []int{blocked, tried})
			return err
		}))
		w.publish("main", "double")
		w.result("r", "202")
		w.pinnedTo("r", 2)
	})
}

func TestAVersionThatCannotBe(t *testing.T) {
	for _, source := range []string{"again -2", "child main -2"} {
		publishing(t, func(w *world) {
			w.publish("main", source)
			w.start("a", "main", "1")
			w.settle()
			require.Equal(w.t, history.Failed, w.summary("a").Status)
			require.ErrorContains(w.t, w.summary("a").Failure,
				"Definition is -2: use a version from 1")
		})
	}
}

func TestAChildOfAnotherVersion(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("part", "double")
		w.publish("part", "double, double")
		w.publish("main", "child part 1, child part latest")
		w.start("a", "main", "1")
		w.result("a", "8")
		w.pinnedTo("a.1.0", 1)
		w.pinnedTo("a.1.1", 2)
	})
}

func TestAChildTakesTheLatestVersion(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("part", "double")
		w.publish("main", "wait, child part")
		w.start("a", "main", "1")
		w.settle()
		w.publish("part", "double, double")
		w.signal("a", "s", "go", `"x"`)
		w.result("a", "4")
		for _, run := range w.runs() {
			if run != "a" {
				w.pinnedTo(run, 2)
			}
		}
	})
}

// TestPublishingResumesRuns: what was started before anything was published waits, and its first
// record pins it.
func TestPublishingResumesRuns(t *testing.T) {
	publishing(t, func(w *world) {
		w.start("r", "main", "1")
		w.isBlocked(port.ReasonUnregistered,
			`workflow "main" is neither registered here nor published`)
		w.publish("main", "wait, double")
		w.settle()
		require.Nil(w.t, w.summary("r").Blocked)
		w.publish("main", "double, double, double")
		w.replaced()
		w.signal("r", "s", "go", `"x"`)
		w.result("r", "2")
		w.pinnedTo("r", 1)
	})
}

// TestPublishedWhileARunIsBlocked: its publisher looks for blocked runs before there is one.
func TestPublishedWhileARunIsBlocked(t *testing.T) {
	publishing(t, func(w *world) {
		hold := w.plan(fault{kind: pause, op: port.OpBlock})
		w.start("r", "main", "1")
		w.pass(time.Second)
		w.publish("main", "double")
		close(hold.gate)
		w.result("r", "2")
	})
}

func TestAResetToAGoodVersion(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("main", "double, wait")
		w.start("r", "main", "1")
		w.settle()
		stored, err := w.store.Definition(w.t.Context(), "main", 1)
		require.NoError(w.t, err)
		// as another version of the program would leave it
		require.NoError(w.t, w.store.DeleteDefinition(w.t.Context(), "main", 1))
		stored.Source = "triple"
		require.NoError(w.t, w.store.PutDefinition(w.t.Context(), stored))
		w.replaced()
		w.signal("r", "s", "go", `"x"`)
		w.isBlocked(port.ReasonDefinition,
			`version 1 of definition "main", of kind words, cannot be interpreted: the word "triple" is not known`)

		w.publish("main", "double, wait, double")
		w.code(port.NotFound, w.resetTo("never", engine.ResetPoint{Record: 1, Definition: 9}))
		require.NoError(w.t, w.resetTo("x", engine.ResetPoint{Record: 1, Definition: 2}))
		w.result("r", "4")
		w.pinnedTo("r", 2)
	})
}

func TestDraftsAndRetiredVersions(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("main", "double")
		draft, created, err := w.tryPublish(engine.PublishRequest{Name: "main",
			Source: "double, double", Draft: true})
		require.NoError(w.t, err)
		require.True(w.t, created)
		require.Equal(w.t, 2, draft.Version)
		w.start("a", "main", "1")
		w.result("a", "2")
		_, err = w.tryStart(engine.StartRequest{Run: "b", Workflow: "main", Definition: 2,
			Input: history.Payload("1")})
		require.NoError(w.t, err)
		w.result("b", "4")
		w.pinnedTo("b", 2)

		again, created, err := w.tryPublish(engine.PublishRequest{Name: "main",
			Source: "double, double"})
		require.NoError(w.t, err)
		require.False(w.t, created, "the draft is published")
		require.Equal(w.t, []any{2, port.DefinitionPublished}, []any{again.Version, again.Status})
		w.start("c", "main", "1")
		w.result("c", "4")

		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
			return e.Retire(ctx, "main", 2)
		}))
		w.start("d", "main", "1")
		w.result("d", "2")
		_, err = w.tryStart(engine.StartRequest{Run: "e", Workflow: "main", Definition: 2})
		w.code(port.Conflict, err)
	})
}

func TestWhatIsInUseIsNotDeleted(t *testing.T) {
	publishing(t, func(w *world) {
		remove := func(version int) error {
			return w.api(func(ctx context.Context, e *engine.Engine) error {
				return e.DeleteDefinition(ctx, "main", version)
			})
		}
		retire := func(version int) {
			require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
				return e.Retire(ctx, "main", version)
			}))
		}
		w.publish("main", "double")
		w.start("a", "main", "1")
		w.result("a", "2")
		w.publish("main", "wait")
		w.code(port.Conflict, remove(2))
		retire(1)
		retire(2)
		err := remove(1)
		w.code(port.Conflict, err)
		require.ErrorContains(w.t, err, `run "a" has it`)
		require.NoError(w.t, remove(2))
		w.code(port.NotFound, remove(2))

		listed := func() (versions []int) {
			all, err := ask(w, func(ctx context.Context, e *engine.Engine) ([]*port.Definition,
				error) {
				return e.Versions(ctx, "main")
			})
			require.NoError(w.t, err)
			for _, d := range all {
				versions = append(versions, d.Version)
			}
			return versions
		}
		require.Equal(w.t, []int{1}, listed())
		w.publish("main", "double, double")
		require.Equal(w.t, []int{3, 1}, listed(), "a number never stands for two sources")
		_, _, err = w.tryPublish(engine.PublishRequest{Name: "main", Version: 2, Source: "double"})
		w.code(port.Conflict, err)
		_, created, err := w.tryPublish(engine.PublishRequest{Name: "main", Version: 2,
			Source: "wait"})
		require.NoError(w.t, err)
		require.True(w.t, created)
		require.Equal(w.t, []int{3, 2, 1}, listed())
	})
}

func TestPublishingIsIdempotent(t *testing.T) {
	publishing(t, func(w *world) {
		for i, c := range []struct {
			request engine.PublishRequest
			version int
			created bool
			code    port.Code
		}{
			{engine.PublishRequest{Source: "double"}, 1, true, ""},
			{engine.PublishRequest{Source: "double"}, 1, false, ""},
			{engine.PublishRequest{Source: "wait"}, 2, true, ""},
			{engine.PublishRequest{Source: "double"}, 3, true, ""},
			{engine.PublishRequest{Source: "wait", Version: 2}, 2, false, ""},
			{engine.PublishRequest{Source: "double", Version: 2}, 0, false, port.Conflict},
			{engine.PublishRequest{Source: "double", Version: 9}, 9, true, ""},
			{engine.PublishRequest{Source: "wait"}, 10, true, ""},
			{engine.PublishRequest{Source: "triple"}, 0, false, port.Invalid},
			{engine.PublishRequest{Source: "double", Version: -1}, 0, false, port.Invalid},
			{engine.PublishRequest{Source: "\xff"}, 0, false, port.Invalid},
			{engine.PublishRequest{Source: strings.Repeat("x", port.LongestSource+1)}, 0, false,
				port.TooLarge},
		} {
			c.request.Name = "main"
			definition, created, err := w.tryPublish(c.request)
			if c.code != "" {
				w.code(c.code, err)
				continue
			}
			require.NoError(w.t, err, i)
			require.Equal(w.t, c.created, created, i)
			require.Equal(w.t, []any{c.version, "ada", ""},
				[]any{definition.Version, definition.Publisher, definition.Source}, i)
		}
		versions, err := ask(w,
			func(ctx context.Context, e *engine.Engine) ([]*port.Definition, error) {
				return e.Versions(ctx, "main")
			})
		require.NoError(w.t, err)
		require.Len(w.t, versions, 5, "what is refused is not stored")
	})
}

func TestTheProgramsOwnWorkflowsAreNotPublished(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		w.adjust = func(_ string, c *engine.Config) {
			c.Interpreters = map[string]engine.Interpreter{"words": interpretWords}
		}
		_, _, err := w.tryPublish(engine.PublishRequest{Name: "main", Source: "double"})
		w.code(port.Conflict, err)
		_, err = w.tryStart(engine.StartRequest{Run: "a", Workflow: "main", Definition: 1})
		w.code(port.Invalid, err)
	})
}

// TestVersionsOfAStart: a start that is repeated finds its run, whatever was published since.
func TestVersionsOfAStart(t *testing.T) {
	publishing(t, func(w *world) {
		w.publish("main", "double")
		start := engine.StartRequest{Run: "a", Workflow: "main", Input: history.Payload("1")}
		created, err := w.tryStart(start)
		require.NoError(w.t, err)
		require.True(w.t, created)
		w.publish("main", "double, double")
		created, err = w.tryStart(start)
		require.NoError(w.t, err)
		require.False(w.t, created)
		start.Definition = 2
		_, err = w.tryStart(start)
		w.code(port.Conflict, err)
		start.Definition = 3
		start.Run = "b"
		_, err = w.tryStart(start)
		w.code(port.NotFound, err)
		w.result("a", "2")
	})
}

// The stored form has what a reader of another version needs.
func TestStoredDefinitions(t *testing.T) {
	definition := &port.Definition{Name: "main", Version: 3, Kind: "words",
		Status: port.DefinitionDraft, Source: "double"}
	text, err := port.EncodeDefinition(history.Encoder{}, definition)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	read, err := port.DecodeDefinition(&history.Decoder{}, text)
	require.NoError(t, err)
	require.Equal(t, definition, read)
	for _, damaged := range []string{"", "{", `{"source":1}`, `{"away":{"source":"x"}}`} {
		_, err := port.DecodeDefinition(&history.Decoder{}, []byte(damaged))
		require.True(t, errors.Is(err, history.ErrUnreadable), damaged)
	}
}

// Code of a published version is replayed after each activation, too.
func TestReplayEachKnowsPublishedVersions(t *testing.T) {
	publishing(t, func(w *world) {
		adjust := w.adjust
		w.adjust = func(name string, c *engine.Config) {
			adjust(name, c)
			c.ReplayEach = true
		}
		w.publish("main", "double, wait, double")
		w.start("a", "main", "1")
		w.settle()
		w.signal("a", "s", "go", `"x"`)
		w.result("a", "4")
	})
}

// A query makes a run in memory before its first record, with the version of that moment. The
// record pins the run to the version that it really runs.
func TestAQueryBeforeTheFirstRecordPinsNothingWrong(t *testing.T) {
	publishing(t, func(w *world) {
		w.start("a", "main", "1")
		w.settle() // it is blocked: there is no definition
		w.publish("main", "wait, double")
		err := w.api(func(ctx context.Context, e *engine.Engine) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel() // it looks once, and does not wait for the run's first record
			_, err := e.Query(ctx, "a", "none", nil)
			return err
		})
		require.Error(w.t, err, "it has not begun, or has no such query")
		w.publish("main", "wait, double, double")
		w.settle()
		pinned := w.summary("a").Definition
		w.replaced()
		w.signal("a", "s", "go", `"x"`)
		w.result("a", map[int]string{1: "2", 2: "4"}[pinned])
		w.pinnedTo("a", pinned)
	})
}

// TestPublishedWhileAnIndexLags: the publisher's list does not show the run that was blocked just
// now.
func TestPublishedWhileAnIndexLags(t *testing.T) {
	publishing(t, func(w *world) {
		w.start("r", "main", "1")
		w.isBlocked(port.ReasonUnregistered, "main")
		definition, err := port.DecodeDefinition(&history.Decoder{},
			[]byte(`{"name":"main","version":1,"kind":"words","status":"published","source":"double"}`))
		require.NoError(w.t, err)
		// as a publisher that found no run
		require.NoError(w.t, w.store.PutDefinition(w.t.Context(), definition))
		w.settle()
		require.NotNil(w.t, w.summary("r").Blocked)
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
			blocked, tried, err := e.UnblockOlder(ctx, port.Deployment{Version: "1"})
			require.Equal(w.t, []int{1, 1}, []int{blocked, tried})
			return err
		}))
		w.result("r", "2")
	})
}

// TestPublishedWhileABlockIsPut: a definition is published just before its lack blocks a run, so
// that the publisher does not see the run. The author of the block cannot look again: the catalog
// fails.
func TestPublishedWhileABlockIsPut(t *testing.T) {
	publishing(t, func(w *world) {
		w.start("r", "main", "1")
		message := w.take("")[0]
		w.plan(fault{kind: failBefore, op: port.OpFindDefinition, nth: 2})
		require.Error(w.t, w.deliver(w.activator(), message).wait())
		definition, err := port.DecodeDefinition(&history.Decoder{},
			[]byte(`{"name":"main","version":1,"kind":"words","status":"published","source":"double"}`))
		require.NoError(w.t, err)
		require.NoError(w.t, w.store.PutDefinition(w.t.Context(), definition))
		require.NotNil(w.t, w.summary("r").Blocked)
		w.put(message) // which was not acknowledged
		w.ends("2")
	})
}

// TestAVersionThatIsPutTwice: the store's answer is lost, and its client repeats the write.
func TestAVersionThatIsPutTwice(t *testing.T) {
	publishing(t, func(w *world) {
		for version := range 2 {
			w.plan(fault{kind: takenAfter, op: port.OpPutDefinition})
			definition, _, err := w.tryPublish(engine.PublishRequest{Name: "main", Version: version,
				Source: "double"})
			require.NoError(w.t, err)
			require.Equal(w.t, 1, definition.Version)
		}
	})
}
