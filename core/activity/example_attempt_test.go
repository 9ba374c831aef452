package activity_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type None = struct{}

var Upload = activity.New("upload", upload).With(activity.Options{StartToClose: time.Hour, Heartbeat: time.Minute})

// upload goes on where the attempt before it was when it failed.
func upload(ctx context.Context, chunks int) (string, error) {
	from, _ := activity.Progress[int](ctx)
	for i := from; i < chunks; i++ {
		if i == 6 && activity.InfoOf(ctx).Attempt == 1 {
			return "", errors.New("connection lost")
		}
		if err := activity.Heartbeat(ctx, i+1); err != nil {
			return "", err // cancelled, or out of time
		}
	}
	return fmt.Sprintf("chunks %d to %d", from, chunks), nil
}

func ExampleHeartbeat() {
	env := workflowtest.New(workflowtest.Panic)

	fmt.Println(workflowtest.RunActivity(env, Upload, 10))
	// Output: chunks 6 to 10 <nil>
}

func ExampleProgress() {
	env := workflowtest.New(workflowtest.Panic)
	count := activity.New("count", func(ctx context.Context, _ None) (int, error) {
		n, resumed := activity.Progress[int](ctx)
		fmt.Println(n, resumed)
		_ = activity.Heartbeat(ctx, n+10)
		if n < 20 {
			return 0, errors.New("again")
		}
		return n, nil
	})

	fmt.Println(workflowtest.RunActivity(env, count, None{}))
	// Output:
	// 0 false
	// 10 true
	// 20 true
	// 20 <nil>
}

var Fetch = activity.New("fetch", fetch).With(activity.Options{Retry: activity.Retry{NonRetryable: []string{"not-found"}}})

func fetch(_ context.Context, page string) (string, error) {
	return "", activity.Fail("not-found", "there is no page %q", page)
}

func ExampleFail() {
	env := workflowtest.New(workflowtest.Panic)

	_, err := workflowtest.RunActivity(env, Fetch, "/tea")
	fmt.Println(workflow.FailureType(err))
	fmt.Println(err)
	// Output:
	// not-found
	// activity fetch: there is no page "/tea"
}

func ExampleNonRetryable() {
	env := workflowtest.New(workflowtest.Panic)
	parse := activity.New("parse", func(_ context.Context, text string) (int, error) {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			return 0, activity.NonRetryable(fmt.Errorf("%q is no number", text)) // and will be none the next time
		}
		return n, nil
	})

	fmt.Println(workflowtest.RunActivity(env, parse, "tea"))
	// Output: 0 activity parse: "tea" is no number
}

func ExampleRetryAfter() {
	env := workflowtest.New(workflowtest.Panic)
	limited := activity.New("limited", func(ctx context.Context, _ None) (string, error) {
		if activity.InfoOf(ctx).Attempt == 1 {
			return "", activity.RetryAfter(errors.New("429 Too Many Requests"), 90*time.Second) // as its header says
		}
		return "ok", nil
	})

	result, err := workflowtest.RunActivity(env, limited, None{})
	fmt.Println(result, err, "after", env.Elapsed())
	// Output: ok <nil> after 1m30s
}

func ExampleWithDetails() {
	env := workflowtest.New(workflowtest.Panic)
	book := activity.New("book", func(_ context.Context, seats int) (None, error) {
		err := activity.Fail("full", "no table for %d", seats)
		return None{}, activity.NonRetryable(activity.WithDetails(err, []string{"19:00", "21:30"}))
	})

	_, err := workflowtest.RunActivity(env, book, 6)
	others, ok := workflow.FailureDetails[[]string](err)
	fmt.Println(err, others, ok)
	// Output: activity book: no table for 6 [19:00 21:30] true
}

var Approve = activity.Declare[string, bool]("approve").With(activity.Options{StartToClose: 7 * 24 * time.Hour})

func ExampleToken() {
	env := workflowtest.New(workflowtest.Panic)
	var link string // in an e-mail: whoever has it can complete this attempt
	approve := Approve.Implement(func(ctx context.Context, _ string) (bool, error) {
		link = activity.Token(ctx)
		return false, activity.ErrPending
	})
	env.At(48*time.Hour, func() { workflowtest.Complete(env, approve, link, true, nil) })

	approved, err := workflowtest.RunActivity(env, approve, "expense e-1")
	fmt.Println(approved, err, "after", env.Elapsed())
	// Output: true <nil> after 48h0m0s
}

func ExampleInfoOf() {
	env := workflowtest.New(workflowtest.Panic)
	env.ID = "order-7"
	show := activity.New("show", func(ctx context.Context, _ None) (string, error) {
		info := activity.InfoOf(ctx)
		return fmt.Sprintf("attempt %d of %s (%s) of run %s", info.Attempt, info.Activity, info.ID, info.RunID), nil
	})

	fmt.Println(workflowtest.RunActivity(env, show, None{}))
	// Output: attempt 1 of show (activity-0) of run order-7 <nil>
}
