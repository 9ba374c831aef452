package activity

import (
	"fmt"
	"math"
	"time"
)

// Validate says what is wrong with options, by the name of the first option that cannot be right; nil
// if nothing is. Workflow code that calls an activity with such options gets this error.
func (o Options) Validate() error {
	for _, limit := range []struct {
		name  string
		value time.Duration
	}{
		{"ScheduleToStart", o.ScheduleToStart}, {"StartToClose", o.StartToClose},
		{"ScheduleToClose", o.ScheduleToClose},
	} {
		if limit.value < 0 && limit.value != Unlimited {
			return fmt.Errorf("%s is %s: a limit must not be negative; for none, use activity.Unlimited", limit.name, limit.value)
		}
	}
	if o.Heartbeat < 0 {
		return fmt.Errorf("Heartbeat is %s: it must not be negative; 0 is without limit", o.Heartbeat)
	}
	if o.OnCancel < Wait || o.OnCancel > Abandon {
		return fmt.Errorf("OnCancel is %d: use activity.Wait, Try or Abandon", o.OnCancel)
	}
	return o.Retry.validate()
}

func (r Retry) validate() error {
	switch {
	case r.InitialInterval < 0:
		return fmt.Errorf("Retry.InitialInterval is %s: it must not be negative; 0 is 1s", r.InitialInterval)
	case r.MaxInterval < 0:
		return fmt.Errorf("Retry.MaxInterval is %s: it must not be negative; 0 is 100 times InitialInterval", r.MaxInterval)
	case r.BackoffCoefficient != 0 && !(r.BackoffCoefficient >= 1) || math.IsInf(r.BackoffCoefficient, 0):
		return fmt.Errorf("Retry.BackoffCoefficient is %v: it must be a number from 1; 0 is 2", r.BackoffCoefficient)
	case r.MaxAttempts < 0:
		return fmt.Errorf("Retry.MaxAttempts is %d: it must not be negative; 0 is without limit", r.MaxAttempts)
	}
	return nil
}
