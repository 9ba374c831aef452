// Package v1 is the workflows that the logs beside it were recorded with. It is frozen like them: a log says what this code
// decided, so a change here would be as much a change of the corpus as one of the logs.
package v1

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

type none = struct{}

const (
	soon = 20 * time.Millisecond
	long = 24 * time.Hour // never reached
)

// Tokens has what activity "review" asked for, by the name that it was given; Beaten the attempts that have begun to wait.
var (
	Tokens = make(chan string, 1)
	Beaten = make(chan string, 16)
)

var (
	double = activity.New("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	flaky  = activity.New("flaky", func(ctx context.Context, name string) (string, error) {
		switch activity.InfoOf(ctx).Attempt {
		case 1:
			return "", activity.WithDetails(activity.Fail("Busy", "line 1 is busy"), map[string]int{"line": 1})
		case 2:
			return "", activity.RetryAfter(errors.New("429"), time.Millisecond)
		}
		return "reached " + name, nil
	}).With(activity.Options{ID: "call", StartToClose: time.Minute, ScheduleToStart: time.Minute, ScheduleToClose: time.Hour, Heartbeat: 30 * time.Second,
		Retry: activity.Retry{InitialInterval: time.Millisecond, MaxInterval: time.Second, BackoffCoefficient: 1.5, MaxAttempts: 5, NonRetryable: []string{"Fatal"}}})
	declined = activity.New("declined", func(context.Context, none) (none, error) {
		refused := activity.Fail("Declined", "card: \"declinée\"\n<51>")
		return none{}, activity.NonRetryable(activity.WithDetails(fmt.Errorf("charging: %w", refused), []int{51}))
	})
	panicking = activity.New("panicking", func(context.Context, none) (none, error) { panic("boom") }).With(activity.Options{Retry: once})
	slow      = activity.New("slow", waits).With(activity.Options{StartToClose: soon, Retry: once})
	silent    = activity.New("silent", func(ctx context.Context, name string) (string, error) {
		_ = activity.Heartbeat(ctx, map[string]string{"seen": name})
		return waits(ctx, name)
	}).With(activity.Options{Heartbeat: soon, Retry: once})
	hopeless = activity.New("hopeless", func(context.Context, none) (none, error) { return none{}, errors.New("again and again") }).
			With(activity.Options{ScheduleToClose: 2 * soon, Retry: activity.Retry{InitialInterval: soon}})
	late   = double.With(activity.Options{ScheduleToStart: time.Nanosecond})
	review = activity.New("review", func(ctx context.Context, _ string) (string, error) {
		Tokens <- activity.Token(ctx)
		return "", activity.ErrPending
	})
	absent  = activity.Declare[int, int]("absent").With(activity.Options{Retry: once})
	garbled = activity.New("garbled", func(context.Context, none) (float64, error) { return math.Inf(1), nil }).With(activity.Options{Retry: once})
	overdue = activity.New("overdue", waits).With(activity.Options{ScheduleToClose: soon, StartToClose: activity.Unlimited})
	patient = activity.New("patient", waits).With(activity.Options{StartToClose: activity.Unlimited})
	once    = activity.Retry{MaxAttempts: 1}
)

// waits until it is asked to stop.
func waits(ctx context.Context, name string) (string, error) {
	Beaten <- name
	<-ctx.Done()
	return "", ctx.Err()
}

// Messages.
var (
	note  = workflow.NewSignal[string]("note")
	stop  = workflow.NewSignal[none]("stop")
	add   = workflow.NewUpdate[int, int]("add")
	total = workflow.NewQuery[none, int]("total")
)

// told is how an error is seen by an author's code.
func told(err error) string {
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("%s|%v|%t|%t", workflow.FailureType(err), err, errors.Is(err, workflow.ErrTimeout), errors.Is(err, workflow.ErrCancelled))
}

var activities = workflow.New("activities", func(ctx workflow.Context, n int) (seen []string, err error) {
	twice, err := workflow.Execute(ctx, double, n)
	seen = append(seen, fmt.Sprint(twice), told(err))
	reached, err := workflow.Execute(ctx, flaky, "ada")
	seen = append(seen, reached, told(err))
	_, err = workflow.Execute(ctx, declined, none{})
	details, given := workflow.FailureDetails[[]int](err)
	seen = append(seen, told(err), fmt.Sprint(details, given))
	inline, err := workflow.Execute(ctx, double.Inline(), twice)
	return append(seen, fmt.Sprint(inline), told(err)), nil
})

var failures = workflow.New("failures", func(ctx workflow.Context, _ none) (seen []string, err error) {
	for _, fails := range []*activity.Activity[none, none]{panicking, hopeless} {
		_, err := workflow.Execute(ctx, fails, none{})
		seen = append(seen, told(err))
	}
	for _, fails := range []*activity.Activity[string, string]{slow, silent, overdue} {
		_, err := workflow.Execute(ctx, fails, "x")
		seen = append(seen, told(err))
	}
	_, err = workflow.Execute(ctx, late, 1)
	seen = append(seen, told(err))
	_, err = workflow.Execute(ctx, absent, 1)
	seen = append(seen, told(err))
	_, err = workflow.Execute(ctx, garbled, none{})
	seen = append(seen, told(err))
	_, err = workflow.Step(ctx, "unlucky", func(context.Context) (none, error) { return none{}, activity.NonRetryable(errors.New("no luck")) })
	return append(seen, told(err)), nil
})

var tokens = workflow.New("tokens", func(ctx workflow.Context, _ none) (seen []string, err error) {
	for _, name := range []string{"completed", "failed", "dead"} {
		answer, err := workflow.Execute(ctx, review, name)
		seen = append(seen, answer, told(err))
	}
	return seen, nil
})

var steps = workflow.New("steps", func(ctx workflow.Context, n int) (int, error) {
	n, err := workflow.Step(ctx, "increase", func(context.Context) (int, error) { return n + 1, nil })
	if err != nil {
		return 0, err
	}
	options := activity.Options{ID: "mine", Retry: activity.Retry{InitialInterval: time.Millisecond, MaxAttempts: 3}}
	first := workflow.StartStep(ctx, "first", options, func(ctx context.Context) (int, error) {
		if activity.InfoOf(ctx).Attempt < 2 {
			return 0, errors.New("not yet")
		}
		return n, nil
	})
	second := workflow.StartStep(ctx, "second", activity.Options{}, func(context.Context) (int, error) { return n, nil })
	both, err := workflow.All(ctx, first, second)
	return both[0] + both[1], err
})

var timers = workflow.New("timers", func(ctx workflow.Context, _ none) (seen []string, err error) {
	began := workflow.Now(ctx)
	err = workflow.Sleep(ctx, soon)
	seen = append(seen, told(err), fmt.Sprint(workflow.Now(ctx).Sub(began) >= soon))
	scope, cancel := workflow.WithCancel(ctx)
	never := workflow.Timer(scope, long)
	cancel()
	_, err = never.Await(ctx)
	seen = append(seen, told(err))
	limited, done := workflow.WithTimeout(ctx, soon)
	defer done()
	_, err = workflow.AwaitSignal(limited, note)
	return append(seen, told(err)), nil
})

var signals = workflow.New("signals", func(ctx workflow.Context, sum int) (seen []string, err error) {
	workflow.HandleQuery(ctx, total, func(none) (int, error) { return sum, nil })
	first, err := workflow.AwaitSignal(ctx, note)
	if err != nil {
		return nil, err
	}
	second, err := workflow.Receive(ctx, note).Await(ctx)
	if err != nil {
		return nil, err
	}
	seen = []string{first, second}
	workflow.HandleSignal(ctx, note, func(ctx workflow.Context, text string) error {
		n, err := workflow.Execute(ctx, double, len(text))
		seen = append(seen, fmt.Sprint(text, n))
		return err
	})
	_, err = workflow.AwaitSignal(ctx, stop)
	if err == nil {
		err = workflow.AwaitCondition(ctx, func() bool { return len(seen) == 4 })
	}
	return seen, err
})

var updates = workflow.New("updates", func(ctx workflow.Context, sum int) (int, error) {
	workflow.HandleUpdate(ctx, add, func(ctx workflow.Context, n int) (int, error) {
		if n == 13 {
			return 0, activity.WithDetails(workflow.Fail("Superstition", "no thirteens"), []int{13})
		}
		more, err := workflow.Execute(ctx, double, n)
		sum += more
		return sum, err
	}, func(n int) error {
		if n < 0 {
			return workflow.Fail("Negative", "%d is less than nothing", n)
		}
		return nil
	})
	_, err := workflow.AwaitSignal(ctx, stop)
	return sum, err
})

var child = workflow.New("child", func(ctx workflow.Context, what string) (string, error) {
	switch what {
	case "fails":
		return "", fmt.Errorf("the child: %w", workflow.Fail("Lost", "it is lost"))
	case "waits":
		_, err := workflow.AwaitSignal(ctx, stop)
		return what, err
	}
	return strings.ToUpper(what), nil
})

var children = workflow.New("children", func(ctx workflow.Context, _ none) (seen []string, err error) {
	did := func(result string, err error) { seen = append(seen, result, told(err)) }
	did(workflow.ExecuteChild(ctx, child, "plain"))
	did(workflow.ExecuteChild(ctx, child.With(workflow.ChildOptions{ID: "children-named"}), "named"))
	did(workflow.ExecuteChild(ctx, child.With(workflow.ChildOptions{ID: "children-named"}), "the id is in use"))
	did(workflow.ExecuteChild(ctx, child, "fails"))
	scope, cancel := workflow.WithCancel(ctx)
	cancelled := workflow.StartChild(scope, child, "waits")
	if err := workflow.Sleep(ctx, soon); err != nil {
		return nil, err
	}
	cancel()
	did(cancelled.Await(ctx))
	for id, policy := range []workflow.ParentClosePolicy{workflow.CancelChild, workflow.TerminateChild, workflow.AbandonChild} {
		workflow.StartChild(ctx, child.With(workflow.ChildOptions{ID: fmt.Sprint("children-", id), ParentClosePolicy: policy}), "waits")
	}
	return seen, workflow.Sleep(ctx, soon)
})

// bereft fails as its child does.
var bereft = workflow.New("bereft", func(ctx workflow.Context, _ none) (string, error) { return workflow.ExecuteChild(ctx, child, "fails") })

var cancellation = workflow.New("cancellation", func(ctx workflow.Context, _ none) (string, error) {
	var under []workflow.Future[string]
	for _, how := range []activity.Cancellation{activity.Wait, activity.Try, activity.Abandon} {
		under = append(under, workflow.Start(ctx, patient.With(activity.Options{OnCancel: how, StartToClose: activity.Unlimited}), fmt.Sprint(how)))
	}
	err := workflow.Sleep(ctx, long)
	inner := workflow.Shield(ctx)
	for _, one := range under {
		_, _ = one.Await(inner)
	}
	if _, err := workflow.Execute(inner, double, 4); err != nil {
		return "", err
	}
	return "", err
})

type round struct{ Number, Seen int }

var rounds = workflow.Declare[round, int]("rounds")

func goRound(ctx workflow.Context, r round) (int, error) {
	if _, err := workflow.AwaitSignal(ctx, stop); err != nil {
		return 0, err
	}
	if r.Number < 2 {
		return workflow.ContinueAsNew(ctx, goRound, round{r.Number + 1, r.Seen + 1})
	}
	text, err := workflow.AwaitSignal(ctx, note)
	return r.Seen + len(text), err
}

var (
	stage  = workflow.NewAttribute[string]("stage")
	weight = workflow.NewAttribute[float64]("weight")
)

var attributes = workflow.New("attributes", func(ctx workflow.Context, _ none) (string, error) {
	workflow.SetAttributes(ctx, stage.Is("begun"), weight.Is(1.5))
	workflow.PublishState(ctx, map[string]int{"done": 1})
	if err := workflow.Sleep(ctx, soon); err != nil {
		return "", err
	}
	workflow.SetAttributes(ctx, stage.None())
	workflow.PublishState(ctx, map[string]int{"done": 2})
	workflow.Log(ctx, "all is done")
	return workflow.InfoOf(ctx).RunID, nil
})

var random = workflow.New("random", func(ctx workflow.Context, _ none) (seen []string, err error) {
	for range 3 {
		seen = append(seen, fmt.Sprint(workflow.Random(ctx).IntN(1_000_000)), workflow.UUID(ctx), workflow.Now(ctx).Format(time.RFC3339Nano))
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	return seen, nil
})

var joins = workflow.New("joins", func(ctx workflow.Context, n int) (seen []string, err error) {
	did := func(what any, err error) { seen = append(seen, fmt.Sprint(what), told(err)) }
	did(workflow.Parallel(ctx,
		func(ctx workflow.Context) (int, error) { return workflow.Execute(ctx, double, n) },
		func(ctx workflow.Context) (int, error) {
			workflow.Yield(ctx)
			nested, err := workflow.Parallel(ctx,
				func(ctx workflow.Context) (int, error) { return workflow.Execute(ctx, double, n+1) },
				func(ctx workflow.Context) (int, error) { return n, workflow.Sleep(ctx, time.Millisecond) })
			return len(nested), err
		}))
	did(workflow.Map(ctx, []int{1, 2, 3}, func(ctx workflow.Context, n int) (int, error) {
		if n == 2 {
			return 0, errors.New("not two")
		}
		return workflow.Execute(ctx, double, n)
	}))
	did(workflow.All(ctx, workflow.Start(ctx, double, 5), workflow.Start(ctx, double.Inline(), 6)))
	_, value, err := workflow.Any(ctx, workflow.Start(ctx, double, 7))
	did(value, err)
	arrived := 0
	workflow.HandleSignal(ctx, note, func(workflow.Context, string) error { arrived++; return nil })
	did(workflow.Race(ctx, workflow.Condition(ctx, func() bool { return arrived == 2 }), workflow.Timer(ctx, long)))
	branch := workflow.Go(ctx, func(ctx workflow.Context) (int, error) { return workflow.Execute(ctx, double, 8) })
	did(branch.Await(ctx))
	return seen, nil
})

var phase = workflow.New("phase", func(ctx workflow.Context, within time.Duration) (int, error) {
	p := workflow.NewPhase(0)
	if within > 0 {
		p = p.Within(within)
	}
	workflow.OnSignal(p, note, func(_ workflow.Context, text string, sum int) workflow.Next[int] {
		return workflow.ContinueAsync(sum+len(text), func(ctx workflow.Context) error {
			n, err := workflow.Execute(ctx, double, len(text))
			p.Update(ctx, func(sum int) int { return sum + n })
			return err
		})
	})
	workflow.OnSignal(p, stop, func(_ workflow.Context, _ none, sum int) workflow.Next[int] { return workflow.Finish(sum) })
	workflow.OnUpdate(p, add, func(_ workflow.Context, n int, sum int) workflow.Answer[int, int] {
		switch n {
		case 0:
			return workflow.Reject[int, int](workflow.Fail("Zero", "nothing to add"), sum)
		case 1:
			return workflow.Reply(sum, sum+1)
		}
		return workflow.ReplyAsync(sum, func(ctx workflow.Context) (int, error) { return workflow.Execute(ctx, double, n) })
	}, func(n int) error {
		if n < 0 {
			return errors.New("negative")
		}
		return nil
	})
	return p.Run(ctx)
})

var saga = workflow.New("saga", func(ctx workflow.Context, _ none) (_ string, err error) {
	var undo workflow.Compensations
	defer func() { err = undo.Run(ctx, err) }()
	for n := range 2 {
		undo.Add(fmt.Sprint("undo ", n), func(ctx workflow.Context) error {
			_, err := workflow.Execute(ctx, double, -n)
			return err
		})
		if _, err := workflow.Execute(ctx, double, n); err != nil {
			return "", err
		}
	}
	_, err = workflow.Execute(ctx, declined, none{})
	return "", err
})

// resettable takes a note, then another; an update waits for the second one.
var resettable = workflow.New("resettable", func(ctx workflow.Context, n int) (string, error) {
	second := ""
	workflow.HandleUpdate(ctx, add, func(ctx workflow.Context, n int) (int, error) {
		return n, workflow.AwaitCondition(ctx, func() bool { return second != "" })
	}, func(int) error { return nil })
	drawn := workflow.Random(ctx).IntN(1000)
	first, err := workflow.AwaitSignal(ctx, note)
	if err != nil {
		return "", err
	}
	if _, err := workflow.Execute(ctx, double, n); err != nil {
		return "", err
	}
	if second, err = workflow.AwaitSignal(ctx, note); err != nil {
		return "", err
	}
	_, err = workflow.AwaitSignal(ctx, stop)
	return fmt.Sprint(first, second, drawn, workflow.Random(ctx).IntN(1000)), err
})

var echo = workflow.New("echo", func(ctx workflow.Context, text string) (string, error) {
	return workflow.Step(ctx, "échо 🎉", func(context.Context) (string, error) { return text, nil })
})

var fails = workflow.New("fails", func(_ workflow.Context, how string) (none, error) {
	switch how {
	case "panic":
		panic("the author's own fault")
	case "wrapped":
		return none{}, fmt.Errorf("while trying: %w", workflow.Fail("Tried", "in vain"))
	case "details":
		return none{}, activity.NonRetryable(activity.WithDetails(workflow.Fail("Full", "no table for %d", 6), []string{"19:00", "21:30"}))
	}
	return none{}, errors.New("plain \xff bytes")
})

var unencodable = workflow.New("unencodable", func(workflow.Context, none) (float64, error) { return math.NaN(), nil })

// Everything under way at once, and never done.
var underWay = workflow.New("under-way", func(ctx workflow.Context, _ none) (none, error) {
	workflow.Start(ctx, patient, "under way")
	workflow.StartChild(ctx, child.With(workflow.ChildOptions{ID: "under-way-child"}), "waits")
	_, err := workflow.Parallel(ctx,
		func(ctx workflow.Context) (string, error) { return workflow.AwaitSignal(ctx, note) },
		func(ctx workflow.Context) (string, error) { return "", workflow.Sleep(ctx, long) })
	return none{}, err
})

// The states of a patch: code without it, with it, with only its mark.
func plain(ctx workflow.Context, n int) (int, error) { return workflow.Execute(ctx, double, n) }

func patched(ctx workflow.Context, n int) (int, error) {
	if workflow.Patched(ctx, "triple") {
		return workflow.Step(ctx, "triple", func(context.Context) (int, error) { return 3 * n, nil })
	}
	return workflow.Execute(ctx, double, n)
}

func deprecated(ctx workflow.Context, n int) (int, error) {
	workflow.DeprecatePatch(ctx, "triple")
	return workflow.Step(ctx, "triple", func(context.Context) (int, error) { return 3 * n, nil })
}

func gone(ctx workflow.Context, n int) (int, error) {
	return workflow.Step(ctx, "triple", func(context.Context) (int, error) { return 3 * n, nil })
}

// patches has the code that a log was recorded with, and the code that it is replayed with.
var patches = map[string][2]func(workflow.Context, int) (int, error){
	"patch-before": {plain, patched}, "patch-since": {patched, patched}, "patch-deprecating": {patched, deprecated},
	"patch-deprecated": {deprecated, deprecated}, "patch-gone": {deprecated, gone},
}

// ending returns while a handler of a signal still waits.
var ending = workflow.New("ending", func(ctx workflow.Context, _ none) (string, error) {
	began := false
	workflow.HandleSignal(ctx, note, func(ctx workflow.Context, _ string) error {
		began = true
		return workflow.Sleep(ctx, soon)
	})
	return "over", workflow.AwaitCondition(ctx, func() bool { return began })
})

// locks has handlers that wait for a lock which one at a time may hold.
var locks = workflow.New("locks", func(ctx workflow.Context, handlers int) (most int, err error) {
	locked, holders, ended := false, 0, 0
	workflow.HandleSignal(ctx, note, func(ctx workflow.Context, _ string) error {
		if err := workflow.AwaitCondition(ctx, func() bool { return !locked }); err != nil {
			return err
		}
		locked, holders = true, holders+1
		most = max(most, holders)
		_, err := workflow.Execute(ctx, double, holders)
		locked, holders, ended = false, holders-1, ended+1
		return err
	})
	err = workflow.AwaitCondition(ctx, func() bool { return ended == handlers })
	return most, err
})

// receives has a future of a signal lose a race, and another one that no code awaits.
var receives = workflow.New("receives", func(ctx workflow.Context, _ none) (seen []string, err error) {
	workflow.Receive(ctx, note)
	lost := workflow.Receive(ctx, note)
	if _, err := workflow.Race(ctx, lost, workflow.Timer(ctx, soon)); err != nil {
		return nil, err
	}
	next, err := workflow.AwaitSignal(ctx, note)
	seen = append(seen, next, told(err))
	if _, err := workflow.Execute(ctx, double, len(next)); err != nil {
		return nil, err
	}
	within, received, err := workflow.ReceiveWithin(ctx, note, long)
	seen = append(seen, within, fmt.Sprint(received), told(err))
	_, received, err = workflow.ReceiveWithin(ctx, note, soon)
	return append(seen, fmt.Sprint(received), told(err)), err
})

// mixed fails for good in one branch while another one's scope ends, after a phase without time.
var mixed = workflow.New("mixed", func(ctx workflow.Context, _ none) ([]none, error) {
	_, err := workflow.NewPhase(0).Within(-time.Second).Run(ctx)
	workflow.PublishState(ctx, told(err))
	_, err = workflow.Execute(ctx, double.With(activity.Options{Retry: activity.Retry{BackoffCoefficient: 0.5}}), 1)
	workflow.PublishState(ctx, told(err))
	return workflow.Parallel(ctx,
		func(ctx workflow.Context) (none, error) { return workflow.Execute(ctx, declined, none{}) },
		func(ctx workflow.Context) (none, error) {
			scope, cancel := workflow.WithCancel(ctx)
			timer := workflow.Timer(scope, long)
			cancel()
			return timer.Await(ctx)
		})
})

// failing has a panic count as an error.
var failing = workflow.New("failing", func(ctx workflow.Context, _ none) (_ none, err error) {
	var undo workflow.Compensations
	undo.Add("first", func(ctx workflow.Context) error {
		_, err := workflow.Execute(ctx, double, 1)
		return err
	})
	undo.Add("second", func(workflow.Context) error { panic("the author's own fault") })
	_, err = workflow.Execute(ctx, declined, none{})
	return none{}, undo.Run(ctx, err)
}).FailOnPanic()

var number = workflow.NewSignal[int]("number")

// mistyped gets a signal that may not fit its type.
var mistyped = workflow.New("mistyped", func(ctx workflow.Context, _ none) (string, error) {
	n, err := workflow.AwaitSignal(ctx, number)
	return fmt.Sprint(n, told(err)), nil
})

// Recorded are the definitions as they were recorded.
func Recorded() []workflow.Definition { return definitions(0) }

// Definitions are those that the logs are replayed with.
func Definitions() []workflow.Definition {
	made, _ := Interpret("published", "") // it gives no error
	versions, _ := InterpretVersions("versions", "")
	return append(definitions(1), made, versions)
}

func definitions(state int) []workflow.Definition {
	all := []workflow.Definition{double, flaky, declined, panicking, slow, silent, hopeless, review, garbled, overdue, patient,
		activities, failures, tokens, steps, timers, signals, updates, child, children, bereft, cancellation, rounds.Implement(goRound), attributes, random,
		joins, phase, saga, resettable, echo, fails, unencodable, underWay, locks, receives, mixed, failing, ending, mistyped}
	for name, states := range patches { // order-insensitive: definitions are found by name
		all = append(all, workflow.New(name, states[state]))
	}
	return all
}
