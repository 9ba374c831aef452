package workflowtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// recorder is a TB that takes note of what fails. Its Fatalf ends the goroutine, as that of a *testing.T does.
type recorder struct {
	text     strings.Builder
	cleanups []func()
}

func (*recorder) Helper()                           {}
func (*recorder) Logf(string, ...any)               {}
func (r *recorder) Cleanup(f func())                { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(text string, args ...any) { fmt.Fprintf(&r.text, text+"\n", args...) }
func (r *recorder) Fatalf(text string, args ...any) { r.Errorf(text, args...); runtime.Goexit() }

// failure is what a test fails with.
func failure(test func(t *recorder)) string {
	r, done := &recorder{}, make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range r.cleanups {
				f()
			}
		}()
		test(r)
	}()
	<-done
	return r.text.String()
}

type none = struct{}

var (
	charge  = activity.Declare[int, string]("charge")
	approve = workflow.NewSignal[string]("approve")
)

func TestAMissingMockIsNamedWithWhatToWrite(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, charge, cents) })

	text := failure(func(t *recorder) { _, _ = workflowtest.Run(workflowtest.New(t), buy, 100) })

	require.Contains(t, text, `workflow buy calls activity "charge", which is neither mocked nor registered`)
	require.Contains(t, text, "workflowtest.Mock(env, definition, function), or env.Register(definition)")
}

func TestAMissingChildIsNamedWithWhatToWrite(t *testing.T) {
	child := workflow.Declare[int, int]("child")
	outer := workflow.New("outer", func(ctx workflow.Context, n int) (int, error) { return workflow.ExecuteChild(ctx, child, n) })

	text := failure(func(t *recorder) { _, _ = workflowtest.Run(workflowtest.New(t), outer, 1) })

	require.Contains(t, text, `workflow "child" is started as a child, but is neither registered nor mocked`)
}

func TestADeclaredActivityThatIsMockedMayBeRegistered(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, charge, cents) })
	env := workflowtest.New(t)
	env.Register(charge, buy)
	workflowtest.Mock(env, charge, func(context.Context, int) (string, error) { return "r-1", nil })

	receipt, err := workflowtest.Run(env, buy, 100)

	require.NoError(t, err)
	require.Equal(t, "r-1", receipt)
}

func TestARunThatWaitsForEverSaysForWhat(t *testing.T) {
	stuck := workflow.New("stuck", func(ctx workflow.Context, _ none) (none, error) {
		ready := false
		_, err := workflow.Parallel(ctx,
			func(ctx workflow.Context) (none, error) {
				return none{}, workflow.AwaitCondition(ctx, func() bool { return ready })
			},
			func(ctx workflow.Context) (none, error) {
				_, err := workflow.AwaitSignal(ctx, approve)
				return none{}, err
			},
			func(ctx workflow.Context) (none, error) {
				_, err := workflow.Race(ctx, workflow.Receive(ctx, approve), workflow.Condition(ctx, func() bool { return ready }))
				return none{}, err
			},
		)
		return none{}, err
	})

	text := failure(func(t *recorder) { _, _ = workflowtest.Run(workflowtest.New(t), stuck, none{}) })

	require.Contains(t, text, "workflow stuck waits for ever: after 0s nothing is planned that could wake it\n  run test (stuck):\n")
	require.Contains(t, text, "    root waits for a branch\n    p0 waits for a condition\n    p1 waits for signal approve\n    p2 waits for the first of: signal approve, a condition\n")
	require.Contains(t, text, "env.At")
}

func TestTimeSkips(t *testing.T) {
	nap := workflow.New("nap", func(ctx workflow.Context, d time.Duration) (time.Time, error) {
		err := workflow.Sleep(ctx, d)
		return workflow.Now(ctx), err
	})
	env := workflowtest.New(t)
	env.Start = time.Date(2030, time.May, 1, 12, 0, 0, 0, time.UTC)

	woke, err := workflowtest.Run(env, nap, 365*24*time.Hour)

	require.NoError(t, err)
	require.Equal(t, time.Date(2031, time.May, 1, 12, 0, 0, 0, time.UTC), woke)
	require.Equal(t, 365*24*time.Hour, env.Elapsed())
}

func TestRetriesFollowThePolicyInVirtualTime(t *testing.T) {
	patient := charge.With(activity.Options{Retry: activity.Retry{InitialInterval: time.Minute, BackoffCoefficient: 3, MaxAttempts: 4}})
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, patient, cents) })
	env := workflowtest.New(t)
	var at []time.Duration
	workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
		require.Equal(t, len(at)+1, activity.InfoOf(ctx).Attempt)
		require.Equal(t, "test/1/0", activity.InfoOf(ctx).IdempotencyKey)
		at = append(at, env.Elapsed())
		return "", errors.New("the bank is closed")
	})

	_, err := workflowtest.Run(env, buy, 100)

	require.EqualError(t, err, "activity charge: the bank is closed")
	require.Equal(t, []time.Duration{0, time.Minute, 4 * time.Minute, 13 * time.Minute}, at)
}

func TestRetriesWithoutEndAreAProblemOfTheTest(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, charge, cents) })

	text := failure(func(t *recorder) {
		env := workflowtest.New(t)
		workflowtest.Mock(env, charge, func(context.Context, int) (string, error) { return "", errors.New("the bank is closed") })
		_, _ = workflowtest.Run(env, buy, 100)
	})

	require.Contains(t, text, `activity "charge" of workflow buy failed 1000 times`)
	require.Contains(t, text, "the bank is closed")
	require.Contains(t, text, "activity.Retry.MaxAttempts")
}

func TestAScheduleToCloseTimeoutEndsTheRetries(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) {
		return workflow.Execute(ctx, charge.With(activity.Options{ScheduleToClose: 10 * time.Second}), cents)
	})
	env := workflowtest.New(t)
	attempts := 0
	workflowtest.Mock(env, charge, func(context.Context, int) (string, error) {
		attempts++
		return "", activity.Fail("declined", "no money")
	})

	_, err := workflowtest.Run(env, buy, 100)

	require.Equal(t, "declined", workflow.FailureType(err), "there was no time for another attempt: the last one's failure counts")
	require.Equal(t, 4, attempts, "after 0, 1, 3 and 7 s; the next would come after 15 s")
}

func TestAnAttemptThatTakesTooLongIsEnded(t *testing.T) {
	for name, test := range map[string]struct {
		options activity.Options
		which   string
		took    time.Duration
	}{
		"by default after a minute": {activity.Options{}, "start-to-close", time.Minute},
		"start to close":            {activity.Options{StartToClose: 5 * time.Second}, "start-to-close", 5 * time.Second},
		"schedule to close":         {activity.Options{ScheduleToClose: 6 * time.Second}, "schedule-to-close", 6 * time.Second},
		"heartbeat":                 {activity.Options{Heartbeat: 7 * time.Second}, "heartbeat", 27 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			options := test.options
			options.Retry.MaxAttempts = 1
			buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) {
				return workflow.Execute(ctx, charge.With(options), cents)
			})
			env := workflowtest.New(t)
			var ended error
			workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
				for range 4 {
					ended = workflowtest.Sleep(ctx, 5*time.Second)
					if ended != nil {
						return "", ended
					}
					require.NoError(t, activity.Heartbeat(ctx, "alive"))
				}
				ended = workflowtest.Sleep(ctx, time.Hour)
				return "", ended
			})

			_, err := workflowtest.Run(env, buy, 100)

			require.ErrorIs(t, err, workflow.ErrTimeout)
			require.Equal(t, test.which, workflow.FailureType(err))
			require.ErrorIs(t, ended, context.DeadlineExceeded)
			require.Equal(t, test.took, env.Elapsed())
		})
	}
}

func TestUnlimitedIsUnlimited(t *testing.T) {
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) {
		return workflow.Execute(ctx, charge.With(activity.Options{StartToClose: activity.Unlimited}), cents)
	})
	env := workflowtest.New(t)
	workflowtest.Mock(env, charge, func(ctx context.Context, _ int) (string, error) {
		return "at last", workflowtest.Sleep(ctx, 1000*time.Hour)
	})

	receipt, err := workflowtest.Run(env, buy, 100)

	require.NoError(t, err)
	require.Equal(t, "at last", receipt)
}

func TestTheNextAttemptSeesTheProgressOfTheLast(t *testing.T) {
	copying := activity.New("copy", func(ctx context.Context, files int) (int, error) {
		from, _ := activity.Progress[int](ctx)
		for i := from; i < files; i++ {
			if i == 3 && activity.InfoOf(ctx).Attempt == 1 {
				return 0, errors.New("connection lost")
			}
			if err := activity.Heartbeat(ctx, i+1); err != nil {
				return 0, err
			}
		}
		return files - from, nil
	})

	copied, err := workflowtest.RunActivity(workflowtest.New(t), copying, 10)

	require.NoError(t, err)
	require.Equal(t, 7, copied)
}

func TestSignalsComeInTheOrderInWhichTheyWereSent(t *testing.T) {
	collect := workflow.New("collect", func(ctx workflow.Context, n int) ([]string, error) {
		var all []string
		for range n {
			name, err := workflow.AwaitSignal(ctx, approve)
			if err != nil {
				return nil, err
			}
			all = append(all, name)
		}
		return all, nil
	})
	env := workflowtest.New(t)
	workflowtest.Signal(env, approve, "with the start")
	env.At(time.Minute, func() {
		workflowtest.Signal(env, approve, "later")
		workflowtest.Signal(env, approve, "later still")
	})
	env.At(0, func() { workflowtest.Signal(env, approve, "at once") })

	all, err := workflowtest.Run(env, collect, 4)

	require.NoError(t, err)
	require.Equal(t, []string{"with the start", "at once", "later", "later still"}, all)
}

var counters = struct{ a, b *activity.Activity[int, none] }{activity.Declare[int, none]("a"), activity.Declare[int, none]("b")}

func TestNondeterminismIsCaught(t *testing.T) {
	global := 0
	for name, test := range map[string]struct {
		code func(workflow.Context, none) (int, error)
		want []string
	}{
		"the wall clock": {
			func(ctx workflow.Context, _ none) (int, error) {
				_, err := workflow.Execute(ctx, counters.a, time.Now().Nanosecond())
				return 0, err
			},
			[]string{"nondeterminism (changed-command) at record 1, command 1, unit root", "workflow.Now"},
		},
		"a map's order": {
			func(ctx workflow.Context, _ none) (int, error) {
				many := map[int]bool{}
				for i := range 100 {
					many[i] = true
				}
				for i := range many {
					workflow.Start(ctx, counters.a, i)
				}
				return 0, workflow.Sleep(ctx, time.Hour)
			},
			[]string{"nondeterminism", "record 1"},
		},
		"a global": {
			func(ctx workflow.Context, _ none) (int, error) {
				if global++; global > 1 {
					_, err := workflow.Execute(ctx, counters.b, 1)
					return 0, err
				}
				return 0, workflow.Sleep(ctx, time.Hour)
			},
			[]string{"nondeterminism"},
		},
		"published state": {
			func(ctx workflow.Context, _ none) (int, error) {
				workflow.PublishState(ctx, time.Now())
				return 0, workflow.Sleep(ctx, time.Hour)
			},
			[]string{"it published the state"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := workflow.New("shaky", test.code)
			text := failure(func(t *recorder) {
				env := workflowtest.New(t)
				for _, a := range []*activity.Activity[int, none]{counters.a, counters.b} {
					workflowtest.Mock(env, a, func(context.Context, int) (none, error) { return none{}, nil })
				}
				_, _ = workflowtest.Run(env, w, none{})
			})
			require.Contains(t, text, "workflow shaky decides differently when it runs again over the log of run test")
			for _, want := range test.want {
				require.Contains(t, text, want)
			}
		})
	}
}

func TestWhatACancellationDroppedMayArriveInTheSameActivation(t *testing.T) {
	hasty := charge.With(activity.Options{OnCancel: activity.Try})
	buy := workflow.New("buy", func(ctx workflow.Context, cents int) (string, error) { return workflow.Execute(ctx, hasty, cents) })
	env := workflowtest.New(t)
	workflowtest.Mock(env, charge, func(context.Context, int) (string, error) {
		workflowtest.Cancel(env, "too expensive")
		return "r-1", nil
	})

	_, err := workflowtest.Run(env, buy, 100)

	require.ErrorIs(t, err, workflow.ErrCancelled)
}
