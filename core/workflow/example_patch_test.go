package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	SendSMS = activity.New("send-sms", func(_ context.Context, to string) (string, error) { return "SMS to " + to, nil })
	SendFax = activity.New("send-fax", func(_ context.Context, to string) (string, error) { return "fax to " + to, nil })
)

// The first version sent faxes. Runs of it may be under way for years.
var NotifyV1 = workflow.New("notify", func(ctx workflow.Context, to string) (string, error) {
	sent, err := workflow.Execute(ctx, SendFax, to)
	if err != nil {
		return "", err
	}
	return sent, workflow.Sleep(ctx, time.Hour)
})

// The second one sends an SMS, except in runs that have sent a fax already.
var NotifyV2 = workflow.New("notify", func(ctx workflow.Context, to string) (string, error) {
	send := SendFax
	if workflow.Patched(ctx, "sms-instead-of-fax") {
		send = SendSMS
	}
	sent, err := workflow.Execute(ctx, send, to)
	if err != nil {
		return "", err
	}
	return sent, workflow.Sleep(ctx, time.Hour)
})

// When no run of the first version is left, the old code goes.
var NotifyV3 = workflow.New("notify", func(ctx workflow.Context, to string) (string, error) {
	workflow.DeprecatePatch(ctx, "sms-instead-of-fax")
	sent, err := workflow.Execute(ctx, SendSMS, to)
	if err != nil {
		return "", err
	}
	return sent, workflow.Sleep(ctx, time.Hour)
})

func ExamplePatched() {
	v1 := workflowtest.New(workflowtest.Panic)
	v1.Register(SendFax)
	fmt.Println(workflowtest.Run(v1, NotifyV1, "Ada"))
	workflowtest.Replay(workflowtest.Panic, workflowtest.Export(v1), NotifyV2) // old runs keep to the old path

	v2 := workflowtest.New(workflowtest.Panic)
	v2.Register(SendFax, SendSMS)
	fmt.Println(workflowtest.Run(v2, NotifyV2, "Ada"))
	// Output:
	// fax to Ada <nil>
	// SMS to Ada <nil>
}

func ExampleDeprecatePatch() {
	v2 := workflowtest.New(workflowtest.Panic)
	v2.Register(SendFax, SendSMS)
	fmt.Println(workflowtest.Run(v2, NotifyV2, "Ada"))
	workflowtest.Replay(workflowtest.Panic, workflowtest.Export(v2), NotifyV3) // runs of the second version still fit

	v3 := workflowtest.New(workflowtest.Panic)
	v3.Register(SendSMS)
	fmt.Println(workflowtest.Run(v3, NotifyV3, "Ada"))
	// Output:
	// SMS to Ada <nil>
	// SMS to Ada <nil>
}
