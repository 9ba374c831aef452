package engine_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

var noRetries = activity.Options{Retry: activity.Retry{MaxAttempts: 1}}

var work = activity.Declare[int, string]("work")

// working is a workflow of one activity with options, and the activity's code.
func working(options activity.Options, run func(w *world, ctx context.Context, n int) (string, error)) func(w *world) []workflow.Definition {
	return func(w *world) []workflow.Definition {
		return []workflow.Definition{
			work.Implement(func(ctx context.Context, n int) (string, error) { return run(w, ctx, n) }),
			workflow.New("main", func(ctx workflow.Context, n int) (string, error) { return workflow.Execute(ctx, work.With(options), n) }),
		}
	}
}

// answer is the activity's, as the log has it.
func (w *world) answer() *history.ActivityResolved {
	w.t.Helper()
	for _, rec := range w.log("r", 1) {
		for _, event := range rec.Events {
			if answer, ok := event.(*history.ActivityResolved); ok {
				return answer
			}
		}
	}
	require.Fail(w.t, "no activity has answered")
	return nil
}

func (w *world) fails() *history.Failure {
	w.t.Helper()
	w.settle()
	w.finished()
	require.Equal(w.t, history.Failed, w.summary("r").Status)
	return w.answer().Failure
}

func TestRetriesWithBackoff(t *testing.T) {
	options := activity.Options{Retry: activity.Retry{InitialInterval: time.Second, BackoffCoefficient: 3, MaxInterval: 5 * time.Second}}
	for _, inline := range []bool{false, true} {
		options.Inline = inline
		inBoth(t, working(options, func(_ *world, ctx context.Context, _ int) (string, error) {
			if n := activity.InfoOf(ctx).Attempt; n < 5 {
				return "", fmt.Errorf("not yet %d", n)
			}
			return "done", nil
		}), func(w *world) {
			begun := time.Now()
			w.start("r", "main", "1")
			w.ends(`"done"`)
			answer := w.answer()
			require.Equal(w.t, 5, answer.Number)
			require.Len(w.t, answer.Attempts, 4)
			var waits []time.Duration
			for _, attempt := range answer.Attempts {
				waits = append(waits, attempt.Started.Sub(begun))
			}
			require.Equal(w.t, []time.Duration{0, time.Second, 4 * time.Second, 9 * time.Second}, waits)
			require.Equal(w.t, 14*time.Second, answer.Started.Sub(begun))
		})
	}
}

func TestWhatIsNotRetried(t *testing.T) {
	for name, err := range map[string]error{
		"marked": activity.NonRetryable(errors.New("broken")), "by type": fmt.Errorf("deep: %w", activity.Fail("fatal", "broken")),
	} {
		t.Run(name, func(t *testing.T) {
			options := activity.Options{Retry: activity.Retry{NonRetryable: []string{"fatal"}}}
			simulate(t, working(options, func(*world, context.Context, int) (string, error) { return "", err }), func(w *world) {
				w.start("r", "main", "1")
				require.Contains(w.t, w.fails().Message, "broken")
				require.Empty(w.t, w.answer().Attempts)
			})
		})
	}
}

// TestLongWait: an attempt that is to wait for longer than a queue can delay does not begin early.
func TestLongWait(t *testing.T) {
	simulate(t, working(activity.Options{}, func(_ *world, ctx context.Context, _ int) (string, error) {
		if activity.InfoOf(ctx).Attempt == 1 {
			return "", activity.RetryAfter(errors.New("tomorrow"), 2*time.Hour)
		}
		return "done", nil
	}), func(w *world) {
		begun := time.Now()
		w.start("r", "main", "1")
		w.ends(`"done"`)
		require.GreaterOrEqual(w.t, w.answer().Started.Sub(begun), 2*time.Hour)
		require.LessOrEqual(w.t, w.longest, 15*time.Minute, "delay of a message")
	})
}

// TestOutlastsItsInvocation: an attempt that goes on for longer than its function may is not cut off without a trace.
func TestOutlastsItsInvocation(t *testing.T) {
	late := func(_ *world, ctx context.Context, _ int) (string, error) {
		if activity.InfoOf(ctx).Attempt == 1 {
			return "", elapse(context.WithoutCancel(ctx), 200*time.Second)
		}
		return "done", nil
	}
	three := func(int) time.Duration { return 3 * time.Minute }
	t.Run("activity", func(t *testing.T) {
		simulate(t, working(activity.Options{StartToClose: 24 * time.Hour}, late), func(w *world) {
			w.lifetime = three
			w.start("r", "main", "1")
			w.ends(`"done"`)
			failed := w.answer().Attempts[0].Failure
			require.ErrorIs(w.t, failed, history.ErrTimeout)
			require.ErrorContains(w.t, failed, "give functions/task a longer timeout")
		})
	})
	t.Run("step", func(t *testing.T) {
		simulate(t, working(activity.Options{StartToClose: 24 * time.Hour, Inline: true}, late), func(w *world) {
			w.lifetime = three
			w.start("r", "main", "1")
			w.settle()
			require.Equal(w.t, history.Failed, w.summary("r").Status)
			require.ErrorContains(w.t, w.answer().Failure, "make it an activity that is not inline")
		})
	})
	t.Run("step that began late", func(t *testing.T) { // the next invocation has time enough
		simulate(t, func(w *world) []workflow.Definition {
			return only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
				first, err := w.step(ctx, "one", 50*time.Second, n)
				if err != nil {
					return 0, err
				}
				return w.step(ctx, "two", 50*time.Second, first)
			})(w)
		}, func(w *world) {
			w.lifetime = func(int) time.Duration { return 90 * time.Second }
			w.start("r", "main", "1")
			w.settle()
			require.Equal(w.t, history.Completed, w.summary("r").Status, w.show("r"))
		})
	})
}

func TestTimeouts(t *testing.T) {
	slow := func(_ *world, ctx context.Context, _ int) (string, error) {
		return "", elapse(context.WithoutCancel(ctx), 20*time.Second)
	}
	beats := func(_ *world, ctx context.Context, _ int) (string, error) {
		for range 3 {
			if err := errors.Join(activity.Heartbeat(ctx, nil), elapse(ctx, time.Second)); err != nil {
				return "", err
			}
		}
		return "", elapse(context.WithoutCancel(ctx), 20*time.Second)
	}
	once := activity.Retry{MaxAttempts: 1}
	for name, c := range map[string]struct {
		options activity.Options
		run     func(w *world, ctx context.Context, n int) (string, error)
	}{
		history.StartToClose:    {activity.Options{StartToClose: 5 * time.Second, Retry: once}, slow},
		history.ScheduleToClose: {activity.Options{ScheduleToClose: 5 * time.Second}, slow},
		history.Heartbeat:       {activity.Options{Heartbeat: 2 * time.Second, Retry: once}, beats},
		history.ScheduleToStart: {activity.Options{ScheduleToStart: 5 * time.Second}, slow},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, working(c.options, c.run), func(w *world) {
				w.start("r", "main", "1")
				if name == history.ScheduleToStart {
					require.NoError(w.t, w.deliver(w.process("activate"), w.takeOne(startLetter(w))).wait())
					task := w.takeOne("task r/1/0 attempt 1")
					w.pass(10 * time.Second)
					w.put(task)
				}
				failure := w.fails()
				require.Equal(w.t, history.Timeout, failure.FailureKind)
				require.Equal(w.t, name, failure.Type)
			})
		})
	}
}

func startLetter(w *world) string {
	if w.together {
		return "resume r"
	}
	return "resume r with start#1"
}

func TestHeartbeatsCarryProgress(t *testing.T) {
	options := activity.Options{Heartbeat: 5 * time.Second}
	inBoth(t, working(options, func(_ *world, ctx context.Context, _ int) (string, error) {
		done, _ := activity.Progress[int](ctx)
		for ; done < 10; done++ {
			if done == 6 && activity.InfoOf(ctx).Attempt == 1 {
				return "", errors.New("half way")
			}
			if err := errors.Join(elapse(ctx, time.Second), activity.Heartbeat(ctx, done+1)); err != nil {
				return "", err
			}
		}
		return fmt.Sprint(activity.InfoOf(ctx).Attempt, " ", done), nil
	}), func(w *world) {
		begun := time.Now()
		w.start("r", "main", "1")
		w.pass(3500 * time.Millisecond)
		states, err := ask(w,
			func(ctx context.Context, e *engine.Engine) ([]*port.TaskState, error) {
				return e.ActivitiesOf(ctx, "r")
			})
		require.NoError(w.t, err)
		require.Len(w.t, states, 1)
		require.Equal(w.t, "3", string(states[0].Details))
		w.ends(`"2 10"`)
		require.LessOrEqual(w.t, w.answer().Started.Sub(begun), 8*time.Second, "the first six are not done again")
	})
}

func cancelling(options activity.Options, run func(w *world, ctx context.Context, n int) (string, error)) func(w *world) []workflow.Definition {
	return func(w *world) []workflow.Definition {
		return []workflow.Definition{
			work.Implement(func(ctx context.Context, n int) (string, error) { return run(w, ctx, n) }),
			workflow.New("main", func(ctx workflow.Context, n int) (string, error) {
				inner, cancel := workflow.WithCancel(ctx)
				started := workflow.Start(inner, work.With(options), n)
				if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
					return "", err
				}
				cancel()
				_, err := started.Await(ctx)
				return fmt.Sprint(errors.Is(err, workflow.ErrCancelled)), workflow.Sleep(ctx, time.Minute)
			}),
		}
	}
}

func TestCancellationOfActivities(t *testing.T) {
	beating := func(_ *world, ctx context.Context, _ int) (string, error) {
		for {
			if err := errors.Join(activity.Heartbeat(ctx, nil), elapse(ctx, time.Second)); err != nil {
				return "", err
			}
		}
	}
	failing := func(_ *world, _ context.Context, _ int) (string, error) { return "", errors.New("again") }
	for name, c := range map[string]struct {
		options activity.Options
		run     func(w *world, ctx context.Context, n int) (string, error)
	}{
		"running":          {activity.Options{Heartbeat: time.Minute}, beating},
		"retrying":         {activity.Options{}, failing},
		"step":             {activity.Options{Inline: true}, beating},
		"retrying step":    {activity.Options{Inline: true}, failing},
		"not waited for":   {activity.Options{OnCancel: activity.Try, Heartbeat: time.Minute}, beating},
		"step, not waited": {activity.Options{OnCancel: activity.Try, Inline: true}, beating},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, cancelling(c.options, c.run), func(w *world) {
				w.lifetime = func(int) time.Duration { return 3 * time.Minute }
				w.start("r", "main", "1")
				w.pass(10 * time.Second)
				w.signal("r", "m", "go", `""`)
				w.pass(20 * time.Second)
				if !c.options.Inline || w.together { // a step elsewhere goes on until its deadline
					require.Contains(w.t, w.kinds("r", 1), "cancel-activity")
				}
				w.ends(`"true"`)
			})
		})
	}
	t.Run("queued", func(t *testing.T) {
		inBoth(t, cancelling(activity.Options{Heartbeat: time.Minute}, func(w *world, _ context.Context, _ int) (string, error) {
			w.locked(func() { w.violation("it was cancelled before it began") })
			return "", nil
		}), func(w *world) {
			w.start("r", "main", "1")
			require.NoError(w.t, w.deliver(w.process("activate"), w.takeOne(startLetter(w))).wait())
			task := w.takeOne("task r/1/0 attempt 1")
			w.signal("r", "m", "go", `""`)
			w.pass(time.Second)
			w.put(task)
			w.ends(`"true"`)
		})
	})
}

// byToken is a workflow whose activity is completed from outside.
func byToken(tokens chan<- string, options activity.Options) func(w *world) []workflow.Definition {
	return working(options, func(_ *world, ctx context.Context, n int) (string, error) {
		if n == 2 && activity.InfoOf(ctx).Attempt > 1 {
			return "another attempt", nil
		}
		tokens <- activity.Token(ctx)
		if n == 1 {
			return "", activity.ErrPending
		}
		return "", fmt.Errorf("later: %w", activity.ErrPending)
	})
}

func (w *world) complete(token string, result string, failure *history.Failure) error {
	var payload history.Payload
	if result != "" {
		payload = history.Payload(result)
	}
	return w.api(func(ctx context.Context, e *engine.Engine) error {
		return e.CompleteActivity(ctx, token, payload, failure)
	})
}

func (w *world) heartbeat(token string) error {
	return w.api(func(ctx context.Context, e *engine.Engine) error {
		_, err := e.HeartbeatActivity(ctx, token, history.Payload("1"))
		return err
	})
}

// signedFor is what a token says, signed by the key of tokens for another use.
func signedFor(use, token string) string {
	signed, _ := base64.RawURLEncoding.DecodeString(token)
	body := signed[:len(signed)-sha256.Size]
	mac := hmac.New(sha256.New, tokenKey)
	mac.Write(append([]byte(use), body...))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(slices.Clone(body)))
}

func TestCompletionByToken(t *testing.T) {
	for _, together := range []bool{false, true} {
		tokens := make(chan string, 2)
		play := func(name string, options activity.Options, play func(w *world, token string)) {
			t.Run(fmt.Sprint(name, " together=", together), func(t *testing.T) {
				simulateAs(t, together, byToken(tokens, options), func(w *world) {
					w.start("r", "main", "1")
					w.pass(time.Second)
					play(w, <-tokens)
				})
			})
		}
		play("completed", activity.Options{}, func(w *world, token string) {
			require.NoError(w.t, w.complete(token, `"yes"`, nil))
			w.code(port.NotFound, w.complete(token, `"no"`, nil))
			require.NoError(w.t, w.complete(token, ` "yes" `, nil), "said again, before the run has taken it")
			w.ends(`"yes"`)
			require.NoError(w.t, w.complete(token, `"yes"`, nil), "said again, by somebody who lost the answer")
			w.code(port.NotFound, w.complete(token, `"no"`, nil))
			w.code(port.NotFound,
				w.complete(token, `"yes"`, &history.Failure{FailureKind: history.Application,
					Message: "yes"}))
			w.code(port.NotFound, w.heartbeat(token))
		})
		play("failed", activity.Options{}, func(w *world, token string) {
			no := &history.Failure{FailureKind: history.Application, Message: "no", Details: history.Payload("1")}
			require.NoError(w.t, w.complete(token, "", no))
			require.Equal(w.t, "no", w.fails().Message)
			require.NoError(w.t, w.complete(token, "", no))
			w.code(port.NotFound,
				w.complete(token, "", &history.Failure{FailureKind: history.Application,
					Message: "no"}))
		})
		play("wrong", activity.Options{}, func(w *world, token string) {
			w.code(port.Invalid, w.complete("nonsense", "1", nil))
			w.code(port.Invalid, w.complete("A"+token[1:], "1", nil))
			w.code(port.Invalid, w.complete(signedFor("", token), "1", nil))
			w.code(port.TooLarge, w.complete(token, strings.Repeat("1", history.MaxPayload+1), nil))
			require.NoError(w.t, w.complete(token, `"yes"`, nil))
			w.ends(`"yes"`)
		})
		play("answer lost", activity.Options{}, func(w *world, token string) {
			w.plan(fault{kind: crashAfter, op: "file"})
			require.NoError(w.t, w.complete(token, `"yes"`, nil))
			w.ends(`"yes"`)
		})
		play("expired", activity.Options{StartToClose: time.Hour, Retry: activity.Retry{MaxAttempts: 1}}, func(w *world, token string) {
			require.Equal(w.t, history.StartToClose, w.fails().Type)
			w.code(port.Expired, w.complete(token, `"late"`, nil))
			w.code(port.Expired, w.heartbeat(token))
		})
		play("expired before anybody noticed", activity.Options{StartToClose: time.Hour}, func(w *world, token string) {
			<-time.After(time.Hour) // no message is delivered meanwhile
			w.code(port.Expired, w.complete(token, `"late"`, nil))
		})
		play("good for a month", activity.Options{}, func(w *world, token string) {
			<-time.After(30*24*time.Hour - time.Minute)
			require.NoError(w.t, w.heartbeat(token))
			<-time.After(time.Minute)
			w.code(port.Expired, w.complete(token, `"late"`, nil))
		})
		play("of an attempt before", activity.Options{StartToClose: time.Hour, Retry: activity.Retry{InitialInterval: time.Second}}, func(w *world, token string) {
			w.pass(time.Hour + time.Minute)
			w.code(port.Expired, w.complete(token, `"late"`, nil))
			require.NoError(w.t, w.complete(<-tokens, `"yes"`, nil))
			w.ends(`"yes"`)
		})
		play("heartbeats", activity.Options{Heartbeat: time.Minute, StartToClose: time.Hour, Retry: activity.Retry{MaxAttempts: 1}}, func(w *world, token string) {
			for range 5 {
				w.pass(40 * time.Second)
				require.NoError(w.t, w.heartbeat(token))
			}
			require.Equal(w.t, history.Heartbeat, w.fails().Type)
		})
		play("months", activity.Options{}, func(w *world, token string) {
			w.pass(48 * time.Hour)
			require.LessOrEqual(w.t, w.longest, 15*time.Minute, "delay of a message")
			require.NoError(w.t, w.complete(token, `"yes"`, nil))
			w.ends(`"yes"`)
		})
	}
}

// TestCompletedBeforeItReturned: the token is used while its function still runs.
func TestCompletedBeforeItReturned(t *testing.T) {
	inBoth(t, func(w *world) []workflow.Definition {
		return working(activity.Options{}, func(w *world, ctx context.Context, _ int) (string, error) {
			if err := w.complete(activity.Token(ctx), `"at once"`, nil); err != nil {
				return "", err
			}
			return "", activity.ErrPending
		})(w)
	}, func(w *world) {
		w.start("r", "main", "1")
		w.ends(`"at once"`)
	})
}

// TestTokenNotUsed: an activity that asked for its token and then returned leaves nothing behind.
func TestTokenNotUsed(t *testing.T) {
	var token string
	inBoth(t, working(activity.Options{}, func(_ *world, ctx context.Context, _ int) (string, error) {
		token = activity.Token(ctx)
		return "itself", nil
	}), func(w *world) {
		w.start("r", "main", "1")
		w.ends(`"itself"`)
		w.code(port.NotFound, w.complete(token, `"late"`, nil))
	})
}

// TestPendingWithoutAToken: nobody could ever complete it, so the run is told at once instead of waiting for ever.
func TestPendingWithoutAToken(t *testing.T) {
	for what, options := range map[string]activity.Options{"had not asked for its activity.Token": {}, "a step cannot be completed from outside": {Inline: true}} {
		inBoth(t, working(options, func(*world, context.Context, int) (string, error) { return "", activity.ErrPending }), func(w *world) {
			w.start("r", "main", "1")
			require.Contains(w.t, w.fails().Message, what)
		})
	}
}

func TestDeadTask(t *testing.T) {
	simulate(t, working(activity.Options{}, func(*world, context.Context, int) (string, error) { return "", nil }), func(w *world) {
		w.plan(fault{kind: crashBefore, role: "task", always: true})
		w.start("r", "main", "1")
		require.Equal(w.t, history.Undelivered, w.fails().FailureKind)
	})
}

func TestWhatAnActivityMayDoWrong(t *testing.T) {
	once := activity.Retry{MaxAttempts: 1}
	t.Run("panic", func(t *testing.T) {
		simulate(t, working(activity.Options{Retry: once}, func(*world, context.Context, int) (string, error) { panic("oh") }), func(w *world) {
			w.start("r", "main", "1")
			failure := w.fails()
			require.Equal(w.t, history.Panic, failure.FailureKind)
			require.Contains(w.t, failure.Stack, "activities_test.go")
		})
	})
	t.Run("a result that is no JSON", func(t *testing.T) {
		bad := activity.New("work", func(context.Context, int) (any, error) { return func() {}, nil })
		define := func(*world) []workflow.Definition {
			return []workflow.Definition{bad, workflow.New("main", func(ctx workflow.Context, n int) (any, error) { return workflow.Execute(ctx, bad, n) })}
		}
		simulate(t, define, func(w *world) {
			w.start("r", "main", "1")
			require.Equal(w.t, history.Encoding, w.fails().FailureKind)
		})
	})
	t.Run("not registered", func(t *testing.T) {
		define := func(*world) []workflow.Definition {
			return []workflow.Definition{workflow.New("main", func(ctx workflow.Context, n int) (string, error) {
				return workflow.Execute(ctx, work.With(activity.Options{Retry: once}), n)
			})}
		}
		simulate(t, define, func(w *world) {
			w.start("r", "main", "1")
			require.Equal(w.t, history.Unregistered, w.fails().FailureKind)
		})
	})
}
