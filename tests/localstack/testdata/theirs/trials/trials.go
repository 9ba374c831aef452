// Package trials has workflows that each show one thing of a deployed system.
package trials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// Definitions are all of them.
func Definitions() []workflow.Definition {
	return []workflow.Definition{Account, Nap, Fan, Blob, Count, Family, Crash, Exit, Doomed, Refuse, Change, Note, Chain, Double, Life,
		Stubborn, Yield, Environment, Getenv}
}

var (
	// Account takes deposits until it is closed, and gives the balance.
	Account = workflow.New("account", account)
	Deposit = workflow.NewUpdate[int, int]("deposit")
	Balance = workflow.NewQuery[struct{}, int]("balance")
	Close   = workflow.NewSignal[string]("close")
)

func account(ctx workflow.Context, balance int) (string, error) {
	workflow.HandleUpdate(ctx, Deposit, func(_ workflow.Context, cents int) (int, error) {
		balance += cents
		return balance, nil
	}, func(cents int) error {
		if cents <= 0 {
			return errors.New("a deposit is more than nothing")
		}
		return nil
	})
	workflow.HandleQuery(ctx, Balance, func(struct{}) (int, error) { return balance, nil })
	why, err := workflow.AwaitSignal(ctx, Close)
	if err != nil { // cancelled: what is to be done all the same is shielded
		_, _ = workflow.Execute(workflow.Shield(ctx), Note, "cancelled")
		return "", err
	}
	return fmt.Sprintf("%s: %d", why, balance), nil
}

// Nap sleeps for so many seconds.
var Nap = workflow.New("nap", func(ctx workflow.Context, seconds int) (time.Time, error) {
	err := workflow.Sleep(ctx, time.Duration(seconds)*time.Second)
	return workflow.Now(ctx), err
})

// Order of a fan: so many activities at once, each of which gives so many bytes.
type Order struct{ Width, Bytes int }

var (
	Fan  = workflow.New("fan", fan)
	Blob = activity.New("blob", func(_ context.Context, bytes int) (string, error) { return strings.Repeat("x", bytes), nil })
)

// fan adds up the lengths of what the activities gave.
func fan(ctx workflow.Context, order Order) (int, error) {
	blobs, err := workflow.Map(ctx, make([]struct{}, order.Width), func(ctx workflow.Context, _ struct{}) (string, error) {
		return workflow.Execute(ctx, Blob, order.Bytes)
	})
	return len(strings.Join(blobs, "")), err
}

// Count goes on as new until it has counted down.
var Count = workflow.New("count", count)

func count(ctx workflow.Context, left int) (string, error) {
	if left == 0 {
		return fmt.Sprintf("generation %d", workflow.InfoOf(ctx).Generation), nil
	}
	return workflow.ContinueAsNew(ctx, count, left-1)
}

// Family has so many children nap for a second.
var Family = workflow.New("family", func(ctx workflow.Context, children int) (int, error) {
	woken, err := workflow.Map(ctx, make([]struct{}, children), func(ctx workflow.Context, _ struct{}) (time.Time, error) {
		return workflow.ExecuteChild(ctx, Nap, 1)
	})
	return len(woken), err
})

var (
	// Crash calls an activity that takes its function with it, and says what it is told.
	Crash = workflow.New("crash", func(ctx workflow.Context, _ struct{}) (string, error) {
		_, err := workflow.Execute(ctx, Exit, struct{}{})
		return fmt.Sprint(err), nil
	})
	Exit = activity.New("exit", func(context.Context, struct{}) (struct{}, error) {
		os.Exit(3)
		return struct{}{}, nil
	})
)

var (
	// Doomed calls an activity that fails for ever.
	Doomed = workflow.New("doomed", func(ctx workflow.Context, _ struct{}) (struct{}, error) {
		return workflow.Execute(ctx, Refuse.With(activity.Options{Retry: activity.Retry{InitialInterval: time.Second, MaxInterval: time.Second}}), struct{}{})
	})
	Refuse = activity.New("refuse", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, errors.New("not today") })
)

var (
	// Change notes, waits, and notes again: in the order that word says, which a later version has otherwise.
	Change = workflow.New("change", func(ctx workflow.Context, _ struct{}) (string, error) {
		first, err := workflow.Execute(ctx, Note, word)
		if err != nil {
			return "", err
		}
		why, err := workflow.AwaitSignal(ctx, Close)
		return first + " " + why, err
	})
	Note = activity.New("note", func(_ context.Context, what string) (string, error) { return "noted " + what, nil })
)

const word = "first"

var (
	// Chain does so many steps and activities in turn, and counts.
	Chain = workflow.New("chain", func(ctx workflow.Context, length int) (int, error) {
		total := 0
		for range length {
			n, err := workflow.Step(ctx, "step", func(context.Context) (int, error) { return 1, nil })
			if err != nil {
				return 0, err
			}
			if n, err = workflow.Execute(ctx, Double, n); err != nil {
				return 0, err
			}
			total += n
		}
		return total, nil
	})
	Double = activity.New("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
)

var (
	// Stubborn calls an activity that fails so many times, and gives the number of attempts.
	Stubborn = workflow.New("stubborn", func(ctx workflow.Context, failures int) (int, error) {
		return workflow.Execute(ctx, Yield.With(activity.Options{Retry: activity.Retry{InitialInterval: time.Millisecond, MaxInterval: time.Millisecond}}), failures)
	})
	Yield = activity.New("yield", func(ctx context.Context, failures int) (int, error) {
		attempt := activity.InfoOf(ctx).Attempt
		if attempt <= failures {
			return 0, errors.New("not yet")
		}
		return attempt, nil
	})
)

var (
	// Environment gives an environment variable, as functions/activate and functions/task have it.
	Environment = workflow.New("environment", func(ctx workflow.Context, name string) ([]string, error) {
		activated, err := workflow.Step(ctx, "getenv", func(context.Context) (string, error) { return os.Getenv(name), nil })
		if err != nil {
			return nil, err
		}
		performed, err := workflow.Execute(ctx, Getenv, name)
		return []string{activated, performed}, err
	})
	Getenv = activity.New("getenv", func(_ context.Context, name string) (string, error) { return os.Getenv(name), nil })
)

// Life goes through all that a run waits for: steps, an activity, a timer, a signal, a child. Then it goes on as new, once.
var Life = workflow.New("life", life)

func life(ctx workflow.Context, before string) (string, error) {
	step := func(what string) (string, error) {
		return workflow.Step(ctx, what, func(context.Context) (string, error) { return what, nil })
	}
	one, err := step("one")
	if err != nil || before != "" {
		return before + " " + one, err
	}
	two, err := step("two")
	if err != nil {
		return "", err
	}
	noted, err := workflow.Execute(ctx, Note, one+" "+two)
	if err != nil {
		return "", err
	}
	if err := workflow.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	why, err := workflow.AwaitSignal(ctx, Close)
	if err != nil {
		return "", err
	}
	four, err := workflow.ExecuteChild(ctx, Chain, 2)
	if err != nil {
		return "", err
	}
	return workflow.ContinueAsNew(ctx, life, fmt.Sprintf("%s, %s %d", noted, why, four))
}
