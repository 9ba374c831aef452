package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// ask makes one call of the engine as the API does, with what it answers.
func ask[T any](w *world, do func(ctx context.Context, e *engine.Engine) (T, error)) (answer T, err error) {
	err = w.api(func(ctx context.Context, e *engine.Engine) (err error) {
		answer, err = do(ctx, e)
		return err
	})
	return answer, err
}

func (w *world) code(want port.Code, err error) {
	w.t.Helper()
	require.Error(w.t, err)
	require.Equal(w.t, want, port.CodeOf(err), "%v", err)
}

func (w *world) tryStart(request engine.StartRequest) (created bool, err error) {
	return ask(w, func(ctx context.Context, e *engine.Engine) (bool, error) {
		_, created, err := e.Start(ctx, request)
		return created, err
	})
}

func TestStartIsIdempotent(t *testing.T) {
	inBoth(t, oneActivity, func(w *world) {
		request := engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("1")}
		created, err := w.tryStart(request)
		require.NoError(w.t, err)
		require.True(w.t, created)
		for range 2 { // open, then closed
			created, err = w.tryStart(request)
			require.NoError(w.t, err)
			require.False(w.t, created)
			request.Input = history.Payload("2")
			_, err = w.tryStart(request)
			w.code(port.Conflict, err)
			request.Input = history.Payload(" 1 ")
			w.settle()
		}
		w.finished()
		require.Equal(w.t, 1, w.ran["r/1/activity-0"])
	})
}

// TestAnotherInputUnderTheSameID: values that look alike when printed are not the same.
func TestAnotherInputUnderTheSameID(t *testing.T) {
	for _, pair := range [][2]string{{`["a","b"]`, `["a b"]`}, {`"1"`, `1`}, {`9007199254740993`, `9007199254740992`}, {`null`, `"<nil>"`}, {`{"a":{}}`, `{"a":[]}`}} {
		simulate(t, only("main", func(_ *world, ctx workflow.Context, _ any) (string, error) {
			return workflow.AwaitSignal(ctx, goSignal)
		}), func(w *world) {
			request := engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload(pair[0])}
			_, err := w.tryStart(request)
			require.NoError(w.t, err)
			request.Input = history.Payload(pair[1])
			_, err = w.tryStart(request)
			w.code(port.Conflict, err)
			w.terminate("r", "t")
			w.settle()
		})
	}
}

func TestReuseOfAnID(t *testing.T) {
	inBoth(t, oneActivity, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		again := engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("5"), Reuse: true}
		w.plan(fault{kind: loseAnswer, op: "put", subject: "r"}) // the caller asks again
		_, err := w.tryStart(again)
		require.NoError(w.t, err)
		w.ends("10")
		require.Equal(w.t, 2, w.summary("r").Generation)
		require.Equal(w.t, "5", string(w.summary("r").Input))
	})
}

// anew starts a run under an id that another one had.
func (w *world) anew() {
	w.t.Helper()
	_, err := w.tryStart(engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("1"), Reuse: true})
	require.NoError(w.t, err)
}

// TestMailOfTheRunBefore: what was sent to the run that had an id before, and comes again, or late, is not for the one that has
// it now.
func TestMailOfTheRunBefore(t *testing.T) {
	ends := func(w *world) {
		w.signal("r", "m9", "go", `"mine"`)
		w.ends(`"mine"`)
		require.Equal(w.t, 2, w.summary("r").Generation)
	}
	takes := func(w *world) (again letter) {
		w.put(w.begun("1"))
		w.settle()
		first := w.filed("m1", `"old"`)
		again = *first
		w.put(first)
		w.ends(`"old"`)
		return again
	}
	t.Run("taken by it", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			again := takes(w)
			w.anew()
			w.put(&again)
			w.settle()
			ends(w)
		})
	})
	t.Run("and another of its id, sent to the one that has the id now", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			w.put(w.begun("1"))
			w.settle()
			late := w.unfiled(w.filed("m2", `"late"`))
			w.signal("r", "m1", "go", `"old"`)
			w.ends(`"old"`)
			w.anew()
			w.settle()
			hold := w.plan(fault{kind: pause, op: "look", role: "activate"})
			looking := w.deliver(w.activator(), late) // it is filed, and nobody has looked
			w.signal("r", "m2", "go", `"mine"`)
			hold.release()
			require.NoError(w.t, looking.wait())
			w.ends(`"mine"`)
		})
	})
	t.Run("taken by it, and by nobody since", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			again := takes(w)
			require.NoError(w.t, w.reset("r", "x", 1))
			hold := w.plan(fault{kind: pause, op: "send-resumes", role: "activate"})
			resetting := w.deliver(w.activator(), w.takeOne("resume r with mail#x"))
			w.terminate("r", "t") // before the next generation has begun
			require.NoError(w.t, w.deliver(w.activator(), w.takeOne("resume r with mail#t")).wait())
			hold.release()
			require.NoError(w.t, resetting.wait())
			w.settle()
			require.Equal(w.t, history.Terminated, w.summary("r").Status)
			w.anew()
			w.put(&again)
			w.settle()
			require.Equal(w.t, 3, w.summary("r").Generation)
			require.Equal(w.t, history.Running, w.summary("r").Status)
			w.signal("r", "m9", "go", `"mine"`)
			w.ends(`"mine"`)
		})
	})
	for name, ask := range map[string]func(context.Context, *engine.Engine, engine.MessageRequest) (engine.Accepted, error){
		"a request to cancel it": func(ctx context.Context, e *engine.Engine, m engine.MessageRequest) (engine.Accepted, error) {
			return e.Cancel(ctx, m, "")
		},
		"a request to terminate it": func(ctx context.Context, e *engine.Engine, m engine.MessageRequest) (engine.Accepted, error) {
			return e.Terminate(ctx, m, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, oneSignal, func(w *world) {
				w.put(w.begun("1"))
				w.settle()
				require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
					_, err := ask(ctx, e, engine.MessageRequest{Run: "r", ID: "late"})
					return err
				}))
				late := w.unfiled(w.takeOne("resume r with mail#late"))
				w.signal("r", "m1", "go", `"old"`)
				w.ends(`"old"`)
				<-time.After(2 * time.Minute)
				w.anew()
				w.settle()
				w.put(late)
				w.settle()
				ends(w)
			})
		})
	}
}

func TestRequestsThatCannotBeRight(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		long := make([]byte, 201)
		for i := range long {
			long[i] = 'a'
		}
		for _, bad := range []struct {
			request engine.StartRequest
			code    port.Code
		}{
			{engine.StartRequest{Run: string(long), Workflow: "main"}, port.TooLarge},
			{engine.StartRequest{Run: "a#b", Workflow: "main"}, port.Invalid},
			{engine.StartRequest{Run: "r"}, port.Invalid},
			{engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("{")},
				port.Invalid},
			{engine.StartRequest{Run: "r", Workflow: "main",
				Input: append(make(history.Payload, history.MaxPayload), '1')}, port.TooLarge},
		} {
			_, err := w.tryStart(bad.request)
			w.code(bad.code, err)
		}
		_, err := ask(w, func(ctx context.Context, e *engine.Engine) (*port.Summary, error) {
			return e.Get(ctx, "nobody")
		})
		w.code(port.NotFound, err)
		_, err = ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
			return e.Signal(ctx, engine.MessageRequest{Run: "nobody"}, "go", nil)
		})
		w.code(port.NotFound, err)
		require.Empty(w.t, w.letters)
	})
}

func TestMailToAClosedRun(t *testing.T) {
	inBoth(t, oneActivity, func(w *world) {
		w.start("r", "main", "1")
		w.ends("2")
		_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
			return e.Signal(ctx, engine.MessageRequest{Run: "r"}, "go", nil)
		})
		w.code(port.Closed, err)
		_, err = ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
			return e.Terminate(ctx, engine.MessageRequest{Run: "r"}, "")
		})
		w.code(port.Closed, err)
		_, err = ask(w, func(ctx context.Context, e *engine.Engine) (engine.UpdateAnswer, error) {
			return e.Update(ctx, engine.MessageRequest{Run: "r"}, "add", history.Payload("1"))
		})
		w.code(port.Closed, err)
	})
}

// update sends an update and lets time pass until it is answered, or for a minute.
func (w *world) update(id, name, input string) (answer engine.UpdateAnswer, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = ask(w, func(ctx context.Context, e *engine.Engine) (engine.UpdateAnswer, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return e.Update(ctx, engine.MessageRequest{Run: "r", ID: id}, name, history.Payload(input))
		})
	}()
	synctest.Wait()
	w.pass(2 * time.Minute)
	<-done
	return answer, err
}

func TestUpdates(t *testing.T) {
	define := only("main", func(_ *world, ctx workflow.Context, _ int) (int, error) {
		sum := 0
		workflow.HandleUpdate(ctx, addUpdate, func(ctx workflow.Context, n int) (int, error) {
			if n == 13 {
				return 0, errors.New("unlucky")
			}
			if n == 99 {
				return 1, workflow.Sleep(ctx, time.Hour)
			}
			double, err := workflow.Execute(ctx, callDouble, n)
			sum += n
			return double, err
		}, func(n int) error {
			if n < 0 {
				return errors.New("negative")
			}
			return nil
		})
		return sum, workflow.AwaitCondition(ctx, func() bool { return sum >= 5 })
	})
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		answer, err := w.update("u1", "add", "-1")
		require.NoError(w.t, err)
		require.Equal(w.t, history.UpdateRejected, answer.Phase)
		require.Equal(w.t, "negative", answer.Failure.Message)
		answer, err = w.update("u2", "subtract", "1")
		require.NoError(w.t, err)
		require.Equal(w.t, history.UpdateRejected, answer.Phase, "nothing handles it")
		answer, err = w.update("u3", "add", "13")
		require.NoError(w.t, err)
		require.Equal(w.t, history.UpdateCompleted, answer.Phase)
		require.Equal(w.t, "unlucky", answer.Failure.Message)
		for range 2 { // repeated by its id, it is answered again, and not carried out again
			answer, err = w.update("u4", "add", "2")
			require.NoError(w.t, err)
			require.Equal(w.t, history.UpdateCompleted, answer.Phase)
			require.Equal(w.t, "4", string(answer.Result))
		}
		answer, err = w.update("u5", "add", "99")
		require.NoError(w.t, err)
		require.Equal(w.t, history.UpdateAccepted, answer.Phase, "so far")
		answer, err = w.update("u6", "add", "3")
		require.NoError(w.t, err)
		require.Equal(w.t, "6", string(answer.Result))
		w.ends("5")
		answer, err = w.update("u4", "add", "2") // answered before the end
		require.NoError(w.t, err)
		require.Equal(w.t, "4", string(answer.Result))
		answer, err = w.update("u5", "add", "99")
		require.NoError(w.t, err)
		require.Equal(w.t, "1", string(answer.Result), "the run waited for its handler")
	})
}

// TestUpdateAnsweredBeforeContinuing: an answer in a generation that has ended meanwhile is found.
func TestUpdateAnsweredBeforeContinuing(t *testing.T) {
	define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		if n > 2 {
			_, err := workflow.AwaitSignal(ctx, goSignal)
			return n, err
		}
		added := 0
		workflow.HandleUpdate(ctx, addUpdate, func(_ workflow.Context, k int) (int, error) {
			added = k
			return n + k, nil
		})
		if err := workflow.AwaitCondition(ctx, func() bool { return added > 0 }); err != nil {
			return 0, err
		}
		return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n+added)
	})
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "0")
		w.settle()
		for range 2 {
			answer, err := w.update("u1", "add", "1")
			require.NoError(w.t, err)
			require.Equal(w.t, history.UpdateCompleted, answer.Phase)
			require.Equal(w.t, "1", string(answer.Result))
		}
		for range 2 {
			answer, err := w.update("u2", "add", "2")
			require.NoError(w.t, err)
			require.Equal(w.t, "3", string(answer.Result))
		}
		answer, err := w.update("u1", "add", "1")
		require.NoError(w.t, err)
		require.Equal(w.t, "1", string(answer.Result))
		w.signal("r", "m", "go", `""`)
		w.ends("3")
	})
}

func TestQueries(t *testing.T) {
	define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		sum := n
		workflow.HandleQuery(ctx, sumQuery, func(struct{}) (int, error) {
			if sum > 100 {
				return 0, errors.New("too much")
			}
			return sum, nil
		})
		for range 2 {
			if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
				return 0, err
			}
			sum *= 10
		}
		return sum, nil
	})
	query := func(w *world, name string) (history.Payload, error) {
		return ask(w, func(ctx context.Context, e *engine.Engine) (history.Payload, error) {
			return e.Query(ctx, "r", name, nil)
		})
	}
	inBoth(t, define, func(w *world) {
		_, err := query(w, "sum")
		w.code(port.NotFound, err)
		w.start("r", "main", "2")
		p := w.process("api")
		_, err = p.engine.Query(p.in(), "r", "sum", nil)
		w.code(port.Unavailable, err)
		require.ErrorContains(w.t, err, "not begun")
		w.settle()
		answer, err := query(w, "sum")
		require.NoError(w.t, err)
		require.Equal(w.t, "2", string(answer))
		_, err = query(w, "product")
		w.code(port.NotFound, err)
		require.ErrorContains(w.t, err, "answers sum")
		w.signal("r", "m1", "go", `"x"`)
		w.settle()
		answer, err = query(w, "sum")
		require.NoError(w.t, err)
		require.Equal(w.t, "20", string(answer))
		w.signal("r", "m2", "go", `"x"`)
		w.ends("200")
		_, err = query(w, "sum")
		w.code(port.Rejected, err)
		require.ErrorContains(w.t, err, "too much")
	})
}

// TestManyRunsInLittleRoom: runs are evicted all the time, and none of them notices.
func TestManyRunsInLittleRoom(t *testing.T) {
	inBoth(t, only("main", collect), func(w *world) {
		w.adjust = func(_ string, c *engine.Config) { c.LiveRuns = 1 }
		const runs = 8
		for i := range runs {
			w.start(fmt.Sprint("r", i), "main", `""`)
		}
		for _, input := range []string{`"a"`, `"b"`, `"c"`} {
			for i := range runs {
				w.signal(fmt.Sprint("r", i), "m"+input, "go", input)
			}
			w.pass(time.Second)
		}
		w.settle()
		w.once()
		w.finished()
		for i := range runs {
			require.Equal(w.t, `"abc2"`, string(w.summary(fmt.Sprint("r", i)).Result))
		}
	})
}

// TestSignalsWhileStepsRun: a run takes what comes while its steps are under way, and no step is begun twice.
func TestSignalsWhileStepsRun(t *testing.T) {
	define := only("main", func(w *world, ctx workflow.Context, _ int) (int, error) {
		steps := []workflow.Future[int]{w.startStep(ctx, "a", 20*time.Second, 1), w.startStep(ctx, "b", 25*time.Second, 2)}
		for range 3 {
			if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
				return 0, err
			}
			steps = append(steps, w.startStep(ctx, "c", 7*time.Second, 3))
		}
		all, err := workflow.All(ctx, steps...)
		sum := 0
		for _, n := range all {
			sum += n
		}
		return sum, err
	})
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "1")
		for i := range 3 {
			w.pass(4 * time.Second)
			w.signal("r", fmt.Sprint("m", i), "go", `"x"`)
		}
		w.settle()
		w.once()
		w.ends("12")
	})
}

// TestStepsOfARunThatEnded: a step that goes on beyond the run's end gives its result to nobody, and blocks nothing.
func TestStepsOfARunThatEnded(t *testing.T) {
	define := only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
		workflow.StartStep(ctx, "deaf", noRetries, func(ctx context.Context) (string, error) {
			return "late", elapse(context.WithoutCancel(ctx), 3*time.Second)
		})
		return "done", workflow.Sleep(ctx, time.Second)
	})
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "1")
		w.pass(2 * time.Second)
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error { // has it in memory again
			_, err := e.Query(ctx, "r", "none", nil)
			require.Equal(w.t, port.NotFound, port.CodeOf(err))
			return nil
		}))
		w.ends(`"done"`)
		require.Nil(w.t, w.summary("r").Blocked)
	})
}

// TestStepsOfAGenerationThatEnded: what a step of the generation before still gives is not taken for this one's.
func TestStepsOfAGenerationThatEnded(t *testing.T) {
	define := only("main", func(w *world, ctx workflow.Context, n int) (string, error) {
		one := workflow.StartStep(ctx, "quick", noRetries, func(ctx context.Context) (string, error) {
			return fmt.Sprint("quick ", n), elapse(ctx, 2*time.Second)
		})
		two := workflow.StartStep(ctx, "deaf", noRetries, func(ctx context.Context) (string, error) {
			return fmt.Sprint("deaf ", n), elapse(context.WithoutCancel(ctx), 4*time.Second)
		})
		if n == 1 {
			if err := workflow.Sleep(ctx, time.Second); err != nil {
				return "", err
			}
			return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (string, error) { return "", nil }, 2)
		}
		all, err := workflow.All(ctx, one, two)
		return fmt.Sprint(all), err
	})
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "1")
		w.ends(`"[quick 2 deaf 2]"`)
	})
}

// TestAStampDoesNotGoBack: a message that is repeated later than its sender's next one is answered
// with a stamp that keeps the order of what the sender sends then.
func TestAStampDoesNotGoBack(t *testing.T) {
	inBoth(t, only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		return n, workflow.Sleep(ctx, time.Hour)
	}), func(w *world) {
		w.start("r", "main", "1")
		send := func(id string, after int64) int64 {
			accepted, err := ask(w,
				func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
					return e.Signal(ctx, engine.MessageRequest{Run: "r", ID: id, After: after}, "go",
						history.Payload("1"))
				})
			require.NoError(w.t, err)
			return accepted.Stamp
		}
		first := send("a", 0)
		second := send("b", first)
		require.GreaterOrEqual(w.t, send("a", second), second)
		w.settle()
	})
}

// An earlier generation answers as its log leaves it.
func TestQueriesOfEarlierGenerations(t *testing.T) {
	var main func(ctx workflow.Context, n int) (int, error)
	main = func(ctx workflow.Context, n int) (int, error) {
		sum := n
		workflow.HandleQuery(ctx, sumQuery, func(struct{}) (int, error) { return sum, nil })
		if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
			return 0, err
		}
		if sum++; n < 10 {
			return workflow.ContinueAsNew(ctx, main, n+10)
		}
		return sum, nil
	}
	define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		return main(ctx, n)
	})
	query := func(w *world, generation int) (history.Payload, error) {
		return ask(w, func(ctx context.Context, e *engine.Engine) (history.Payload, error) {
			return e.QueryGeneration(ctx, "r", generation, "sum", nil)
		})
	}
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "2")
		w.settle()
		w.signal("r", "m1", "go", `"x"`)
		w.settle()
		for generation, want := range map[int]string{1: "3", 2: "12"} {
			answer, err := query(w, generation)
			require.NoError(w.t, err)
			require.Equal(w.t, want, string(answer))
		}
		_, err := query(w, 3)
		w.code(port.NotFound, err)
		w.signal("r", "m2", "go", `"x"`)
		w.ends("13")
		answer, err := query(w, 1)
		require.NoError(w.t, err)
		require.Equal(w.t, "3", string(answer))
	})
}
