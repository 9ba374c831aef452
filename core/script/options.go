package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// options are those of a call. Times are in seconds.
type options struct {
	ID string `json:"id"`

	// Of a task.
	Timeout         seconds `json:"timeout"`         // of one attempt
	ScheduleToStart seconds `json:"scheduleToStart"` // until a worker takes it
	ScheduleToClose seconds `json:"scheduleToClose"` // of all attempts
	Heartbeat       seconds `json:"heartbeat"`       // between two signs of life
	OnCancel        string  `json:"onCancel"`        // wait, try or abandon
	Retry           retry   `json:"retry"`

	// Of a child.
	OnParentClose string `json:"onParentClose"` // cancel, terminate or abandon

	unknown []string
}

type retry struct {
	MaxAttempts        *int     `json:"maxAttempts"` // 0: no limit
	InitialInterval    seconds  `json:"initialInterval"`
	MaxInterval        seconds  `json:"maxInterval"`
	BackoffCoefficient float64  `json:"backoffCoefficient"`
	NonRetryable       []string `json:"nonRetryable"`
}

// attempts is how many attempts a task has, three unless the script says otherwise: a script sees
// failures as errors, and would wait for ever for one that no attempt mends.
func (r retry) attempts() int {
	if r.MaxAttempts == nil {
		return 3
	}
	return *r.MaxAttempts
}

type seconds float64

func (s seconds) duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// UnmarshalJSON notes options that do not exist.
func (o *options) UnmarshalJSON(text []byte) error {
	type plain options
	if err := json.Unmarshal(text, (*plain)(o)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	for name := range members { // order-insensitive: it is sorted
		if !slices.Contains(known["run"], name) && !slices.Contains(known["child"], name) {
			o.unknown = append(o.unknown, name)
		}
	}
	slices.Sort(o.unknown)
	return nil
}

// known are the options of each call.
var known = map[string][]string{
	"run":   {"id", "timeout", "scheduleToStart", "scheduleToClose", "heartbeat", "onCancel", "retry"},
	"child": {"id", "onParentClose"},
}

func (o options) check(verb, op string) error {
	if len(o.unknown) > 0 {
		return fmt.Errorf("%s has no option %q; it has %q", verb, o.unknown[0], known[op])
	}
	if _, ok := cancellations[o.OnCancel]; !ok {
		return fmt.Errorf("%s: onCancel is wait, try or abandon, not %q", verb, o.OnCancel)
	}
	if _, ok := policies[o.OnParentClose]; !ok {
		return fmt.Errorf("%s: onParentClose is cancel, terminate or abandon, not %q", verb, o.OnParentClose)
	}
	for name, value := range map[string]float64{ // order-insensitive: any of them will do
		"timeout": float64(o.Timeout), "scheduleToStart": float64(o.ScheduleToStart),
		"scheduleToClose": float64(o.ScheduleToClose), "heartbeat": float64(o.Heartbeat),
		"retry.maxAttempts":     float64(o.Retry.attempts()),
		"retry.initialInterval": float64(o.Retry.InitialInterval), "retry.maxInterval": float64(o.Retry.MaxInterval),
	} {
		if value < 0 || value > mostSeconds {
			return fmt.Errorf("%s: %s is %v: it is to be 0 or more", verb, name, value)
		}
	}
	return nil
}

var cancellations = map[string]activity.Cancellation{"": activity.Wait, "wait": activity.Wait,
	"try": activity.Try, "abandon": activity.Abandon}

var policies = map[string]workflow.ParentClosePolicy{"": workflow.CancelChild, "cancel": workflow.CancelChild,
	"terminate": workflow.TerminateChild, "abandon": workflow.AbandonChild}

func (o options) activity(id string) activity.Options {
	return activity.Options{
		ID: id, StartToClose: o.Timeout.duration(), ScheduleToStart: o.ScheduleToStart.duration(),
		ScheduleToClose: o.ScheduleToClose.duration(), Heartbeat: o.Heartbeat.duration(),
		OnCancel: cancellations[o.OnCancel],
		Retry: activity.Retry{MaxAttempts: o.Retry.attempts(), InitialInterval: o.Retry.InitialInterval.duration(),
			MaxInterval: o.Retry.MaxInterval.duration(), BackoffCoefficient: o.Retry.BackoffCoefficient,
			NonRetryable: o.Retry.NonRetryable},
	}
}

func (o options) child() workflow.ChildOptions {
	return workflow.ChildOptions{ID: o.ID, ParentClosePolicy: policies[o.OnParentClose]}
}
