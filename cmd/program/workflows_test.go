package program_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// The workflows of the transcripts: each shows something that the verbs print.

var tokens = make(chan string, 1)

var (
	price = activity.New("price", func(_ context.Context, item string) (int, error) { return 100 * len(item), nil })
	flaky = activity.New("charge", func(ctx context.Context, cents int) (string, error) {
		if attempt := activity.InfoOf(ctx).Attempt; attempt < 3 {
			return "", fmt.Errorf("the bank is busy (%d)", attempt)
		}
		return fmt.Sprintf("charge of %d", cents), nil
	}).With(activity.Options{Retry: activity.Retry{InitialInterval: time.Millisecond}})
	refuse = activity.New("refuse", func(context.Context, struct{}) (string, error) {
		return "", activity.NonRetryable(activity.WithDetails(activity.Fail("Declined", "the card was declined"), map[string]int{"code": 51}))
	})
	review = activity.New("review", func(ctx context.Context, _ string) (string, error) {
		tokens <- activity.Token(ctx)
		return "", activity.ErrPending
	})

	approve = workflow.NewSignal[string]("approve")
	add     = workflow.NewUpdate[int, int]("add")
	total   = workflow.NewQuery[struct{}, int]("total")

	greet = workflow.New("greet", func(_ workflow.Context, name string) (string, error) { return "hello, " + name, nil })
	pack  = workflow.New("pack", func(ctx workflow.Context, item string) (string, error) {
		return "a box with a " + item, workflow.Sleep(ctx, time.Millisecond)
	})
	shop = workflow.New("shop", func(ctx workflow.Context, item string) (map[string]string, error) {
		cents, err := workflow.Execute(ctx, price, item)
		if err != nil {
			return nil, err
		}
		charge, err := workflow.Execute(ctx, flaky, cents)
		if err != nil {
			return nil, err
		}
		box, err := workflow.ExecuteChild(ctx, pack, item)
		if err != nil {
			return nil, err
		}
		return map[string]string{"charge": charge, "box": box, "note": "a result that is long enough to be printed over several lines"}, nil
	})
	counter = workflow.New("counter", func(ctx workflow.Context, sum int) (string, error) {
		workflow.HandleQuery(ctx, total, func(struct{}) (int, error) { return sum, nil })
		workflow.HandleUpdate(ctx, add, func(_ workflow.Context, n int) (int, error) {
			if n == 13 {
				return 0, errors.New("no thirteens")
			}
			sum += n
			return sum, nil
		}, func(n int) error {
			if n < 0 {
				return errors.New("a negative number")
			}
			return nil
		})
		workflow.PublishState(ctx, map[string]string{"stage": "counting"})
		who, err := workflow.AwaitSignal(ctx, approve)
		return fmt.Sprintf("%d, says %s", sum, who), err
	})
	declined = workflow.New("declined", func(ctx workflow.Context, _ struct{}) (string, error) {
		return workflow.Execute(ctx, refuse, struct{}{})
	})
	reviewed = workflow.New("reviewed", func(ctx workflow.Context, text string) (string, error) {
		return workflow.Execute(ctx, review, text)
	})
	rounds   = workflow.New("rounds", nextRound)
	unbilled = workflow.New("unbilled", func(ctx workflow.Context, _ struct{}) (string, error) {
		tomorrow := activity.Options{Retry: activity.Retry{InitialInterval: 24 * time.Hour}}
		return workflow.StartStep(ctx, "bill", tomorrow, func(context.Context) (string, error) {
			return "", errors.New("the bank is closed")
		}).Await(ctx)
	})
	vanishes = workflow.New("vanishes", func(ctx workflow.Context, _ struct{}) (string, error) {
		abandoned := workflow.ChildOptions{ID: "left", ParentClosePolicy: workflow.AbandonChild}
		workflow.StartChild(ctx, pack.With(abandoned), "hat")
		return "gone", nil
	})
)

func nextRound(ctx workflow.Context, left int) (int, error) {
	if left == 0 {
		return workflow.InfoOf(ctx).Generation, nil
	}
	return workflow.ContinueAsNew(ctx, nextRound, left-1)
}

func definitions() []workflow.Definition {
	return []workflow.Definition{price, flaky, refuse, review, greet, pack, shop, counter, declined, reviewed, rounds, unbilled, vanishes}
}
