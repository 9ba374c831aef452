package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type Cart struct {
	Items []string
	Cents int
}

var (
	AddItem  = workflow.NewSignal[string]("add-item")
	Checkout = workflow.NewUpdate[string, int]("checkout")
	PriceOf  = activity.New("price-of", func(_ context.Context, item string) (int, error) { return 100 * len(item), nil })
	Shopping = workflow.New("shopping", shopping)
)

// shopping folds messages into a cart until the customer checks out, or has been away for a day.
func shopping(ctx workflow.Context, customer string) (Cart, error) {
	phase := workflow.NewPhase(Cart{}).Within(24 * time.Hour)
	workflow.OnSignal(phase, AddItem, func(_ workflow.Context, item string, cart Cart) workflow.Next[Cart] {
		cart.Items = append(cart.Items, item)
		return workflow.ContinueAsync(cart, func(ctx workflow.Context) error { // beside the phase, which takes the next message
			cents, err := workflow.Execute(ctx, PriceOf, item)
			phase.Update(ctx, func(cart Cart) Cart {
				cart.Cents += cents
				return cart
			})
			return err
		})
	})
	workflow.OnUpdate(phase, Checkout, func(_ workflow.Context, _ string, cart Cart) workflow.Answer[Cart, int] {
		return workflow.ReplyAndFinish(len(cart.Items), cart)
	}, func(address string) error {
		if address == "" {
			return errors.New("where to?")
		}
		return nil
	})
	return phase.Run(ctx)
}

func ExampleNewPhase() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(PriceOf)
	env.At(1*time.Minute, func() { workflowtest.Signal(env, AddItem, "tea") })
	env.At(2*time.Minute, func() { workflowtest.Signal(env, AddItem, "milk") })
	env.At(3*time.Minute, func() {
		fmt.Println(workflowtest.Update(env, Checkout, "").Result())
		fmt.Println(workflowtest.Update(env, Checkout, "12 Main Street").Result())
	})

	fmt.Println(workflowtest.Run(env, Shopping, "ada"))
	// Output:
	// 0 where to?
	// 2 <nil>
	// {[tea milk] 700} <nil>
}

func ExamplePhase_Within() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(PriceOf)
	env.At(time.Hour, func() { workflowtest.Signal(env, AddItem, "tea") })

	_, err := workflowtest.Run(env, Shopping, "ada")
	fmt.Println(errors.Is(err, workflow.ErrTimeout), "after", env.Elapsed())
	// Output: true after 24h0m0s
}

var (
	Ask    = workflow.NewUpdate[string, string]("ask")
	HangUp = workflow.NewSignal[None]("hang-up")
	LookUp = activity.Declare[string, string]("look-up")
	Call   = workflow.New("call", call)
)

// call answers questions; those that take long do not keep others waiting.
func call(ctx workflow.Context, _ None) (asked int, err error) {
	phase := workflow.NewPhase(0)
	workflow.OnUpdate(phase, Ask, func(_ workflow.Context, question string, asked int) workflow.Answer[int, string] {
		return workflow.ReplyAsync(asked+1, func(ctx workflow.Context) (string, error) {
			return workflow.Execute(ctx, LookUp, question)
		})
	})
	workflow.OnSignal(phase, HangUp, func(_ workflow.Context, _ None, asked int) workflow.Next[int] { return workflow.Finish(asked) })
	return phase.Run(ctx)
}

func ExampleReplyAsync() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, LookUp, func(ctx context.Context, question string) (string, error) {
		return "about " + question, workflowtest.Sleep(ctx, time.Duration(len(question))*time.Second)
	})
	var hard, easy *workflowtest.Outcome[string]
	env.At(0, func() { hard, easy = workflowtest.Update(env, Ask, "philosophy"), workflowtest.Update(env, Ask, "tea") })
	env.At(5*time.Second, func() {
		fmt.Println(hard.Done(), easy.Done())
		workflowtest.Signal(env, HangUp, None{}) // the phase ends once all is answered
	})

	fmt.Println(workflowtest.Run(env, Call, None{}))
	fmt.Println(hard.Result())
	// Output:
	// false true
	// 2 <nil>
	// about philosophy <nil>
}
