package workflowtest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func count(ctx workflow.Context, n int) (int, error) {
	if err := workflow.Sleep(ctx, time.Hour); err != nil || n == 3 {
		return n, err
	}
	return workflow.ContinueAsNew(ctx, count, n+1)
}

var counting = workflow.New("counting", count)

func TestContinueAsNewIsFollowed(t *testing.T) {
	env := workflowtest.New(t)

	n, err := workflowtest.Run(env, counting, 0)

	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, 4*time.Hour, env.Elapsed())
}

func TestContinueAsNewIsStoppedAt(t *testing.T) {
	env := workflowtest.New(t)
	env.StopAtContinueAsNew = true

	_, err := workflowtest.Run(env, counting, 0)

	next, ok := workflowtest.NextInput[int](err)
	require.True(t, ok)
	require.Equal(t, 1, next)
	require.Equal(t, time.Hour, env.Elapsed())
	_, ok = workflowtest.NextInput[int](errors.New("another"))
	require.False(t, ok)
}

func TestContinueAsNewTakesUnreadSignalsAndAttributesAlong(t *testing.T) {
	stage := workflow.NewAttribute[int]("stage")
	var two func(ctx workflow.Context, first string) (string, error)
	two = func(ctx workflow.Context, first string) (string, error) {
		workflow.SetAttributes(ctx, stage.Is(len(first)))
		name, err := workflow.AwaitSignal(ctx, approve)
		if err != nil || first != "" {
			return first + name, err
		}
		return workflow.ContinueAsNew(ctx, two, name)
	}
	env := workflowtest.New(t)
	env.At(time.Minute, func() {
		workflowtest.Signal(env, approve, "a")
		workflowtest.Signal(env, approve, "b")
	})

	both, err := workflowtest.Run(env, workflow.New("two", two), "")

	require.NoError(t, err)
	require.Equal(t, "ab", both)
	value, ok := workflowtest.Attribute(env, stage)
	require.True(t, ok)
	require.Equal(t, 1, value)
}

func TestARunThatContinuesWithAnotherFunctionsInputFails(t *testing.T) {
	other := func(workflow.Context, string) (int, error) { return 0, nil }
	w := workflow.New("mixed-up", func(ctx workflow.Context, _ int) (int, error) { return workflow.ContinueAsNew(ctx, other, "x") })

	_, err := workflowtest.Run(workflowtest.New(t), w, 1)

	require.EqualError(t, err, "workflow.ContinueAsNew: workflow mixed-up takes int, and was to go on with string: pass its own function")
}

func TestARunThatGoesRoundInACircleIsAProblemOfTheTest(t *testing.T) {
	var forever func(ctx workflow.Context, n int) (int, error)
	forever = func(ctx workflow.Context, n int) (int, error) { return workflow.ContinueAsNew(ctx, forever, n+1) }

	text := failure(func(t *recorder) {
		env := workflowtest.New(t)
		env.SkipReplay = true
		_, _ = workflowtest.Run(env, workflow.New("forever", forever), 0)
	})

	require.Contains(t, text, "50000 activations, and no end")
	require.Contains(t, text, "env.StopAtContinueAsNew")
}

func TestAnEnvironmentIsForOneRun(t *testing.T) {
	env := workflowtest.New(t)
	_, _ = workflowtest.Run(env, counting, 3)
	require.Contains(t, failure(func(t *recorder) {
		env := workflowtest.New(t)
		_, _ = workflowtest.Run(env, counting, 3)
		_, _ = workflowtest.Run(env, counting, 3)
	}), "an environment is for one run")
}

func TestWhatCancellationDoesWithAnActivity(t *testing.T) {
	for name, test := range map[string]struct {
		on      activity.Cancellation
		stopped bool // the activity saw it
	}{
		"wait":    {activity.Wait, true},
		"try":     {activity.Try, true},
		"abandon": {activity.Abandon, false},
	} {
		t.Run(name, func(t *testing.T) {
			slow := charge.With(activity.Options{StartToClose: activity.Unlimited, OnCancel: test.on})
			closed := time.Duration(0)
			buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, slow, cents) })
			outer := workflow.New("outer", func(ctx workflow.Context, cents int) (string, error) {
				receipt, err := workflow.ExecuteChild(ctx, buy, cents)
				_, stepErr := workflow.Step(workflow.Shield(ctx), "note", func(context.Context) (none, error) { return none{}, nil })
				return receipt, errors.Join(err, stepErr)
			})
			env := workflowtest.New(t)
			env.Register(buy)
			workflowtest.MockStep(env, "note", func(context.Context) (none, error) {
				closed = env.Elapsed()
				return none{}, nil
			})
			stopped := false
			workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
				err := workflowtest.Sleep(ctx, 2*time.Hour)
				stopped = err != nil
				return "r-1", err
			})
			env.At(time.Hour, func() { workflowtest.Cancel(env, "") })

			_, err := workflowtest.Run(env, outer, 100)

			require.ErrorIs(t, err, workflow.ErrCancelled)
			require.Equal(t, test.stopped, stopped)
			require.Equal(t, time.Hour, closed)
		})
	}
}

func TestACancelledActivityMayTakeItsTimeAndSucceed(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, charge, cents) })
	env := workflowtest.New(t)
	workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
		require.ErrorIs(t, workflowtest.Sleep(ctx, 30*time.Second), context.Canceled)
		return "r-1", nil
	})
	env.At(10*time.Second, func() { workflowtest.Cancel(env, "") })

	receipt, err := workflowtest.Run(env, buy, 100)

	require.NoError(t, err)
	require.Equal(t, "r-1", receipt)
}

func TestACancelledActivityBetweenTwoAttemptsEndsAtOnce(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, charge, cents) })
	env := workflowtest.New(t)
	workflowtest.Mock(env, charge, func(context.Context, int) (string, error) {
		return "", activity.RetryAfter(errors.New("later"), time.Hour)
	})
	env.At(time.Minute, func() { workflowtest.Cancel(env, "") })

	_, err := workflowtest.Run(env, buy, 100)

	require.ErrorIs(t, err, workflow.ErrCancelled)
	require.Equal(t, time.Minute, env.Elapsed())
}

func TestAMockThatIgnoresTheEndOfItsContextIsEnded(t *testing.T) {
	once := charge.With(activity.Options{Retry: activity.Retry{MaxAttempts: 1}})
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, once, cents) })
	env := workflowtest.New(t)
	workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
		for {
			_ = workflowtest.Sleep(ctx, time.Second)
		}
	})

	_, err := workflowtest.Run(env, buy, 100)

	require.ErrorIs(t, err, workflow.ErrTimeout)
}

func TestAPanicInAMockIsAFailureOfTheActivity(t *testing.T) {
	once := charge.With(activity.Options{Retry: activity.Retry{MaxAttempts: 1}})
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, once, cents) })
	env := workflowtest.New(t)
	workflowtest.Mock(env, charge, func(context.Context, int) (string, error) { panic("no mocks today") })

	_, err := workflowtest.Run(env, buy, 100)

	require.EqualError(t, err, "activity charge: panic: no mocks today")
}

func TestAStepMustNotCallTheWorkflow(t *testing.T) {
	for name, recovers := range map[string]bool{"panics": false, "recovers": true} {
		t.Run(name, func(t *testing.T) {
			buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) {
				return workflow.Step(ctx, "price", func(context.Context) (string, error) {
					if recovers {
						defer func() { _ = recover() }()
					}
					return workflow.Execute(ctx, charge, cents)
				})
			})
			text := failure(func(t *recorder) {
				env := workflowtest.New(t)
				workflowtest.Mock(env, charge, func(context.Context, int) (string, error) { return "charged", nil })
				_, _ = workflowtest.Run(env, buy, 100)
			})
			require.Contains(t, text, "inside the function of a step")
		})
	}
}

func TestAFailedAssertionInAMockEndsTheTest(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, charge, cents) })
	text := failure(func(t *recorder) {
		env := workflowtest.New(t)
		workflowtest.Mock(env, charge, func(_ context.Context, cents int) (string, error) {
			t.Fatalf("%d is too much", cents)
			return "", nil
		})
		_, _ = workflowtest.Run(env, buy, 100)
		t.Errorf("the test went on")
	})
	require.Equal(t, "100 is too much\n", text)
}

func TestTokens(t *testing.T) {
	patient := charge.With(activity.Options{StartToClose: time.Hour, Retry: activity.Retry{MaxAttempts: 2}})
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, patient, cents) })
	var tokens []string
	setup := func(t workflowtest.TB) *workflowtest.Env {
		tokens = nil
		env := workflowtest.New(t)
		workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
			tokens = append(tokens, activity.Token(ctx))
			return "", activity.ErrPending
		})
		return env
	}

	t.Run("an error counts like one of the attempt", func(t *testing.T) {
		env := setup(t)
		env.At(time.Minute, func() { workflowtest.Complete(env, charge, tokens[0], "", errors.New("declined")) })
		env.At(2*time.Minute, func() { workflowtest.Complete(env, charge, tokens[1], "r-2", nil) })
		receipt, err := workflowtest.Run(env, buy, 100)
		require.NoError(t, err)
		require.Equal(t, "r-2", receipt)
	})
	t.Run("time goes on", func(t *testing.T) {
		env := setup(t)
		_, err := workflowtest.Run(env, buy, 100)
		require.ErrorIs(t, err, workflow.ErrTimeout)
		require.Len(t, tokens, 2)
		require.Equal(t, 2*time.Hour+time.Second, env.Elapsed())
	})
	t.Run("one that is over is refused", func(t *testing.T) {
		require.Contains(t, failure(func(t *recorder) {
			env := setup(t)
			env.At(90*time.Minute, func() { workflowtest.Complete(env, charge, tokens[0], "r-1", nil) })
			_, _ = workflowtest.Run(env, buy, 100)
		}), "the attempt of token \"token-1\" is over")
	})
	t.Run("nobody asked for it", func(t *testing.T) {
		require.Contains(t, failure(func(t *recorder) {
			env := workflowtest.New(t)
			workflowtest.Mock(env, charge, func(context.Context, int) (string, error) { return "", activity.ErrPending })
			_, _ = workflowtest.Run(env, buy, 100)
		}), "never asked for its activity.Token")
	})
	t.Run("a step has none", func(t *testing.T) {
		step := workflow.New("step", func(ctx workflow.Context, _ none) (string, error) {
			return workflow.Step(ctx, "wait", func(ctx context.Context) (string, error) {
				require.Empty(t, activity.Token(ctx))
				return "", activity.ErrPending
			})
		})
		_, err := workflowtest.Run(workflowtest.New(t), step, none{})
		require.Equal(t, "pending-step", workflow.FailureType(err))
	})
}

func TestMailToAClosedRunIsAProblemOfTheTest(t *testing.T) {
	require.Contains(t, failure(func(t *recorder) {
		env := workflowtest.New(t)
		env.At(48*time.Hour, func() { workflowtest.Signal(env, approve, "ann") })
		_, _ = workflowtest.Run(env, counting, 3)
	}), "signal approve is sent to run \"test\" after it has closed (completed), at 48h0m0s")
}

func TestWorkflowCodeMustNotCallTheEnvironment(t *testing.T) {
	require.Contains(t, failure(func(t *recorder) {
		env := workflowtest.New(t)
		inside := workflow.New("inside-out", func(workflow.Context, none) (none, error) {
			workflowtest.Signal(env, approve, "ann")
			return none{}, nil
		})
		_, _ = workflowtest.Run(env, inside, none{})
	}), "workflowtest.Signal was called by workflow code")
}

// TestPanics fail the test: a server would block the run. A workflow that fails on panics gives an error.
func TestPanics(t *testing.T) {
	w := workflow.New("panics", func(workflow.Context, none) (none, error) { panic("oh") })
	require.Contains(t, failure(func(t *recorder) {
		_, _ = workflowtest.Run(workflowtest.New(t), w, none{})
	}), "workflow code panicked in unit root: oh")

	_, err := workflowtest.Run(workflowtest.New(t), w.FailOnPanic(), none{})
	require.EqualError(t, err, "panic: oh")
}

func TestUpdates(t *testing.T) {
	add := workflow.NewUpdate[int, int]("add")
	sum := workflow.New("sum", func(ctx workflow.Context, _ none) (total int, err error) {
		workflow.HandleUpdate(ctx, add, func(ctx workflow.Context, n int) (int, error) {
			if n > 10 {
				if err := workflow.Sleep(ctx, 5*time.Minute); err != nil {
					return 0, err
				}
			}
			total += n
			return total, nil
		})
		return total, workflow.Sleep(ctx, time.Hour)
	})

	t.Run("one with the start, one that waits, one that the run outlives its code for", func(t *testing.T) {
		env := workflowtest.New(t)
		first := workflowtest.Update(env, add, 1)
		var slow, late *workflowtest.Outcome[int]
		env.At(time.Minute, func() {
			slow = workflowtest.Update(env, add, 20)
			require.True(t, slow.Accepted())
			require.False(t, slow.Done())
		})
		env.At(59*time.Minute, func() { late = workflowtest.Update(env, add, 30) })

		_, err := workflowtest.Run(env, sum, none{})

		require.NoError(t, err)
		for want, outcome := range map[int]*workflowtest.Outcome[int]{1: first, 21: slow} {
			got, err := outcome.Result()
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		got, err := late.Result()
		require.NoError(t, err)
		require.Equal(t, 51, got, "the run waits for its handlers")
	})
	t.Run("an answer that is not there yet", func(t *testing.T) {
		require.Contains(t, failure(func(t *recorder) {
			env := workflowtest.New(t)
			env.At(0, func() { _, _ = workflowtest.Update(env, add, 20).Result() })
			_, _ = workflowtest.Run(env, sum, none{})
		}), "update add has no answer yet: its handler still waits")
	})
	t.Run("one that nothing handles", func(t *testing.T) {
		env := workflowtest.New(t)
		env.At(0, func() {
			_, err := workflowtest.Update(env, workflow.NewUpdate[int, int]("subtract"), 1).Result()
			require.ErrorContains(t, err, `nothing handles update "subtract" now; handled: add`)
		})
		_, err := workflowtest.Run(env, sum, none{})
		require.NoError(t, err)
	})
}

func TestAQuerySeesTheMailSentBefore(t *testing.T) {
	names := workflow.NewQuery[none, []string]("names")
	w := workflow.New("w", func(ctx workflow.Context, _ none) (none, error) {
		var all []string
		workflow.HandleSignal(ctx, approve, func(_ workflow.Context, name string) error {
			all = append(all, name)
			return nil
		})
		workflow.HandleQuery(ctx, names, func(none) ([]string, error) { return all, nil })
		return none{}, workflow.Sleep(ctx, time.Hour)
	})
	env := workflowtest.New(t)
	env.At(time.Minute, func() {
		workflowtest.Signal(env, approve, "ann")
		all, err := workflowtest.Query(env, names, none{})
		require.NoError(t, err)
		require.Equal(t, []string{"ann"}, all)
		_, err = workflowtest.Query(env, workflow.NewQuery[none, int]("other"), none{})
		require.EqualError(t, err, `no query "other": this run answers names`)
	})

	_, err := workflowtest.Run(env, w, none{})

	require.NoError(t, err)
}

func TestWhatBecomesOfChildrenWhenTheirParentCloses(t *testing.T) {
	for name, test := range map[string]struct {
		on   workflow.ParentClosePolicy
		took time.Duration
		end  string
	}{
		"cancel":    {workflow.CancelChild, time.Hour + time.Minute, "cleaned up"},
		"terminate": {workflow.TerminateChild, time.Hour, ""},
		"leave":     {workflow.AbandonChild, 5 * time.Hour, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			end := ""
			child := workflow.New("child", func(ctx workflow.Context, _ none) (none, error) {
				text := "done"
				err := workflow.Sleep(ctx, 5*time.Hour)
				if err != nil {
					text = "cleaned up"
					_ = workflow.Sleep(workflow.Shield(ctx), time.Minute)
				}
				_, _ = workflow.Step(workflow.Shield(ctx), "end", func(context.Context) (none, error) {
					end = text
					return none{}, nil
				})
				return none{}, err
			})
			outer := workflow.New("outer", func(ctx workflow.Context, _ none) (none, error) {
				workflow.StartChild(ctx, child.With(workflow.ChildOptions{ParentClosePolicy: test.on}), none{})
				return none{}, workflow.Sleep(ctx, time.Hour)
			})
			env := workflowtest.New(t)
			env.Register(child)

			_, err := workflowtest.Run(env, outer, none{})

			require.NoError(t, err)
			require.Equal(t, test.end, end)
			require.Equal(t, test.took, env.Elapsed())
		})
	}
}

func TestAChildsIDMustBeFree(t *testing.T) {
	child := workflow.New("child", func(ctx workflow.Context, _ none) (string, error) { return "ok", workflow.Sleep(ctx, time.Hour) })
	outer := workflow.New("outer", func(ctx workflow.Context, _ none) (string, error) {
		one := child.With(workflow.ChildOptions{ID: "one"})
		first := workflow.StartChild(ctx, one, none{})
		if _, err := workflow.ExecuteChild(ctx, one, none{}); workflow.FailureType(err) != "run-id-in-use" {
			return "", errors.New("the second one was not refused")
		}
		return first.Await(ctx)
	})
	env := workflowtest.New(t)
	env.Register(child)

	result, err := workflowtest.Run(env, outer, none{})

	require.NoError(t, err)
	require.Equal(t, "ok", result)
}

func TestAMockedChildIsCancelledWithItsScope(t *testing.T) {
	child := workflow.Declare[none, none]("child")
	outer := workflow.New("outer", func(ctx workflow.Context, _ none) (none, error) {
		limited, cancel := workflow.WithTimeout(ctx, time.Hour)
		defer cancel()
		return workflow.ExecuteChild(limited, child, none{})
	})
	env := workflowtest.New(t)
	workflowtest.MockChild(env, child, func(ctx context.Context, _ none) (none, error) {
		return none{}, workflowtest.Sleep(ctx, 5*time.Hour)
	})

	_, err := workflowtest.Run(env, outer, none{})

	require.ErrorIs(t, err, workflow.ErrTimeout)
	require.NotErrorIs(t, err, workflow.ErrCancelled, "the scope ran out of time; nobody cancelled the run")
	require.Equal(t, time.Hour, env.Elapsed())
}

func TestWhatRunsOutOfTimeFailsWithThat(t *testing.T) {
	for name, on := range map[string]activity.Cancellation{"wait": activity.Wait, "try": activity.Try, "abandon": activity.Abandon} {
		t.Run(name, func(t *testing.T) {
			buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) {
				limited, cancel := workflow.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				return workflow.Execute(limited, charge.With(activity.Options{OnCancel: on}), cents)
			})
			env := workflowtest.New(t)
			workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
				return "", workflowtest.Sleep(ctx, 20*time.Second)
			})

			_, err := workflowtest.Run(env, buy, 100)

			require.ErrorIs(t, err, workflow.ErrTimeout)
			require.EqualError(t, err, "scope timeout of 10s")
		})
	}
}

func TestAnActivityThatNobodyAwaitsStillRuns(t *testing.T) {
	forget := workflow.New("forget", func(ctx workflow.Context, _ none) (none, error) {
		workflow.Start(ctx, charge, 1)
		return none{}, nil
	})
	env := workflowtest.New(t)
	ran := false
	workflowtest.Mock(env, charge, func(context.Context, int) (string, error) {
		ran = true
		return "", nil
	})

	_, err := workflowtest.Run(env, forget, none{})

	require.NoError(t, err)
	require.True(t, ran)
}

func TestAnActivityUnderWayIsAskedToStopWhenItsRunCloses(t *testing.T) {
	hurry := workflow.New("hurry", func(ctx workflow.Context, _ none) (none, error) {
		workflow.Start(ctx, charge, 1)
		return none{}, workflow.Sleep(ctx, time.Second)
	})
	env := workflowtest.New(t)
	var ended error
	workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
		ended = workflowtest.Sleep(ctx, 30*time.Second)
		return "", ended
	})

	_, err := workflowtest.Run(env, hurry, none{})

	require.NoError(t, err)
	require.ErrorIs(t, ended, context.Canceled)
	require.Equal(t, time.Second, env.Elapsed())
}

func TestALongRunIsCheckedInLinearTime(t *testing.T) {
	long := workflow.New("long", func(ctx workflow.Context, n int) (none, error) {
		for range n {
			if err := workflow.Sleep(ctx, time.Second); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})

	_, err := workflowtest.Run(workflowtest.New(t), long, 5_000)

	require.NoError(t, err)
}

func TestReplay(t *testing.T) {
	env := workflowtest.New(t)
	_, err := workflowtest.Run(env, counting, 3)
	require.NoError(t, err)
	exported := workflowtest.Export(env)
	changed := workflow.New("counting", func(ctx workflow.Context, n int) (int, error) { return n, workflow.Sleep(ctx, 2*time.Hour) })

	require.Empty(t, failure(func(t *recorder) { workflowtest.Replay(t, exported, changed.Implement(count)) }))
	text := failure(func(t *recorder) { workflowtest.Replay(t, exported, changed) })
	require.Contains(t, text, "run test: nondeterminism (changed-command) at record 1, command 1, unit root")
	require.Contains(t, text, "duration: recorded 1h0m0s, attempted 2h0m0s")
	require.Contains(t, failure(func(t *recorder) {
		workflowtest.Replay(t, exported, charge.Implement(nil), workflow.New("other", count))
	}),
		`activity "charge" is declared, but has no implementation`)
	require.Contains(t, failure(func(t *recorder) { workflowtest.Replay(t, exported, workflow.New("other", count)) }),
		`the history of run test is of workflow "counting", and was to be replayed against ["other"]`)
	require.Contains(t, failure(func(t *recorder) { workflowtest.Replay(t, []byte(`{"format":9}`), counting) }), "written by a newer one")
	require.Contains(t, failure(func(t *recorder) { workflowtest.Replay(t, []byte(`{"records":[{}}`), counting) }), "unreadable record")

	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.json"), exported, 0o600))
	pattern := filepath.Join(folder, "*.json")
	require.Empty(t, failure(func(t *recorder) { workflowtest.ReplayFiles(t, pattern, counting) }))
	require.Contains(t, failure(func(t *recorder) { workflowtest.ReplayFiles(t, pattern, changed) }), "a.json: run test: nondeterminism")
	require.Contains(t, failure(func(t *recorder) { workflowtest.ReplayFiles(t, filepath.Join(folder, "*.yaml"), counting) }), "matches no file")
}

// TestASignalLeftInAFuture fails the test; one that lost a race leaves it to others.
func TestASignalLeftInAFuture(t *testing.T) {
	run := func(code func(workflow.Context) error) string {
		w := workflow.New("receives", func(ctx workflow.Context, _ none) (none, error) { return none{}, code(ctx) })
		return failure(func(t *recorder) {
			env := workflowtest.New(t)
			env.At(time.Minute, func() { workflowtest.Signal(env, approve, "ann") })
			_, _ = workflowtest.Run(env, w, none{})
		})
	}
	require.Contains(t, run(func(ctx workflow.Context) error {
		workflow.Receive(ctx, approve)
		return workflow.Sleep(ctx, time.Hour)
	}), "a future of signal approve was left with a signal")
	require.Contains(t, run(func(ctx workflow.Context) error {
		_, err := workflow.Race(ctx, workflow.Receive(ctx, approve))
		return err
	}), "a future of signal approve was left with a signal")
	require.Empty(t, run(func(ctx workflow.Context) error {
		inner, cancel := workflow.WithCancel(ctx)
		workflow.Receive(inner, approve)
		cancel()
		return workflow.Sleep(ctx, time.Hour)
	}))
	require.Empty(t, run(func(ctx workflow.Context) error {
		if _, err := workflow.Race(ctx, workflow.Receive(ctx, approve), workflow.Timer(ctx, time.Second)); err != nil {
			return err
		}
		_, err := workflow.AwaitSignal(ctx, approve)
		return err
	}))
}
