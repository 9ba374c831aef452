package flow

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
)

// timer waits for a while (S4.50). Its input goes to output_key.
func (v *visit) timer() (outcome, error) {
	now := v.frame.Now
	delay := milliseconds(v.params["delay_ms"])
	if now.Due.IsZero() {
		now.Due = now.Entered.Add(delay)
		v.publish(v.ctx)
	}
	if _, err := v.await(func() bool { return false }); err != nil {
		return outcome{}, err
	}
	if failure := v.output(now.Input, now.Input); failure != nil {
		return v.end(nil, "", failure)
	}
	return v.end(now.Input, v.action(now.Input), nil)
}

// await waits until a condition holds, or the node is due. It leaves a generation with a long log.
func (v *visit) await(holds func() bool) (inTime bool, err error) {
	if err := v.ctx.Err(); err != nil {
		return false, err
	}
	if holds() {
		return true, nil
	}
	enough := func() bool { return v.long || holds() }
	before := workflow.Now(v.ctx)
	if due := v.frame.Now.Due; due.IsZero() {
		err = workflow.AwaitCondition(v.ctx, enough)
	} else if left := due.Sub(before); left > 0 {
		err = workflow.AwaitConditionWithin(v.ctx, left, enough)
	} else {
		return false, nil
	}
	v.pace.waited(workflow.Now(v.ctx).Sub(before))
	switch {
	case v.ctx.Err() != nil:
		return false, v.ctx.Err()
	case holds():
		return true, nil
	case errors.Is(err, workflow.ErrTimeout):
		return false, nil
	case err != nil:
		return false, err
	}
	return false, errLong
}

// milliseconds reads a time from params. Other values than numbers are 0, as in seed 004.
func milliseconds(value json.RawMessage) time.Duration {
	f, err := decode[float64](orNull(value))
	if err != nil || f < 0 {
		return 0
	}
	const most = 100 * longest // a hundred years
	return time.Duration(min(f, most)*1000) * time.Microsecond
}
