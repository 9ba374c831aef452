package flow

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/reprise-run/reprise/core/workflow"
)

// calls are those of one foreach or parallel.
type calls struct {
	total int
	size  int // of all inputs, in bytes
	input func(i int) json.RawMessage
	serve func(i int) string // the service
	names func(i int) string // of the branch
}

// fan is how far a fan-out is. Between generations, no call runs: all calls before Next have ended.
type fan struct {
	Next    int               `json:"next"`
	Results []json.RawMessage `json:"results"` // null where a call failed
	Errors  map[int]string    `json:"errors,omitempty"`

	total, ended int
	stopped      bool
	bytes        int // of the results
}

// restore completes a fan that was read: the result of a failed call is missing, that of another
// call may be null.
func (f *fan) restore() {
	f.ended = f.Next
	for _, result := range f.Results {
		f.bytes += len(result)
	}
	for i := range f.Errors { // order-insensitive: each once
		if i >= 0 && i < len(f.Results) {
			f.Results[i] = nil
		}
	}
}

const (
	// MaxRunning is how many calls of one node run at a time, whatever max_parallel says.
	MaxRunning = 1000
	// mostInput is how many bytes the inputs of all calls of a node have, and mostRunning those of
	// the calls that run at a time. Each call's input contains the params.
	mostInput   = 256 << 20
	mostRunning = 8 << 20
)

// fanOut makes the calls and ends the node.
func (v *visit) fanOut(c calls) (outcome, error) {
	each := len(v.paramsJSON())
	if total := c.size + c.total*each; total > mostInput {
		return v.end(nil, "", failed(
			"the inputs of %d calls have %d bytes, the limit is %d: pass less in params",
			c.total, total, mostInput))
	}
	f := v.frame.Now.Fan
	if f == nil {
		f = &fan{Errors: map[int]string{}}
		v.frame.Now.Fan = f
	}
	if f.Errors == nil {
		f.Errors = map[int]string{}
	}
	if f.total = c.total; f.Next > c.total || len(f.Results) != f.Next {
		return v.end(nil, "", failed(
			"the position that the node continues at does not fit its input"))
	}
	if err := v.runLanes(c, f, each); err != nil {
		return outcome{}, err
	}
	return v.aggregate(c, f)
}

// runLanes makes the calls that are left. Each lane makes one call after the other.
func (v *visit) runLanes(c calls, f *fan, each int) error {
	inner, stop := workflow.WithCancel(v.ctx)
	lanes := make([]int, v.width(c, f, each))
	_, _ = workflow.Map(inner, lanes, func(ctx workflow.Context, _ int) (workflow.None, error) {
		for i, more := v.take(ctx, f); more; i, more = v.take(ctx, f) {
			result, failure, err := v.call(ctx, c.serve(i), c.input(i), c.names(i))
			if err != nil {
				return workflow.None{}, err // the scope has ended, and the lane with it
			}
			f.settle(i, result, failure)
			over := f.tooLarge() || v.node.Strategy == FailFast && v.intolerable(f)
			if over && !f.stopped {
				f.stopped = true
				stop()
			}
		}
		return workflow.None{}, nil
	})
	switch {
	case v.ctx.Err() != nil:
		return v.ctx.Err()
	case !f.stopped && f.ended < f.total:
		return errLong
	}
	return nil
}

// width is how many calls run at a time.
func (v *visit) width(c calls, f *fan, each int) int {
	if !v.node.Concurrent {
		return min(1, f.total-f.Next)
	}
	width := min(f.total-f.Next, MaxRunning)
	if v.node.MaxParallel > 0 {
		width = min(width, v.node.MaxParallel)
	}
	average := each + c.size/max(c.total, 1)
	return min(width, max(mostRunning/max(average, 1), 1))
}

// take gives the next call; false if there is none, or the lane should end.
func (v *visit) take(ctx workflow.Context, f *fan) (int, bool) {
	v.measure(ctx)
	if f.stopped || v.long || ctx.Err() != nil || f.Next >= f.total {
		return 0, false
	}
	f.Next++
	f.Results = append(f.Results, nil)
	return f.Next - 1, true
}

// settle keeps how a call ended.
func (f *fan) settle(i int, result json.RawMessage, failure string) {
	if f.ended++; failure != "" {
		f.Errors[i] = failure
		return
	}
	f.Results[i] = orNull(result)
	f.bytes += len(f.Results[i])
}

// tooLarge says whether the results do not fit into the shared state.
func (f *fan) tooLarge() bool { return f.bytes > MaxShared }

// intolerable says whether more calls failed than the node tolerates.
func (v *visit) intolerable(f *fan) bool {
	n := len(f.Errors)
	byCount := n > v.node.ToleratedCount
	byPercentage := float64(n)*100 > v.node.ToleratedPercentage*float64(f.total)
	switch {
	case v.node.ToleratedCount > 0 && v.node.ToleratedPercentage > 0:
		return byCount || byPercentage
	case v.node.ToleratedPercentage > 0:
		return byPercentage
	}
	return byCount
}

// aggregate ends the node with the results of all calls (S4.44, S4.45).
func (v *visit) aggregate(c calls, f *fan) (outcome, error) {
	if f.tooLarge() {
		return v.end(nil, "", failed(
			"the results have more than %d bytes: store large results elsewhere, and give where "+
				"they are",
			MaxShared))
	}
	results := f.Results
	if f.stopped { // the successes so far, without gaps
		missing := func(result json.RawMessage) bool { return result == nil }
		results = slices.DeleteFunc(slices.Clone(results), missing)
	}
	list := join(results)
	v.pace.work += len(list)
	whole := wrap("result", list)
	if unfit := v.output(list, whole); unfit != nil {
		return v.end(nil, "", unfit)
	}
	action := v.action(whole)
	var failure *NodeFailure
	if len(f.Errors) > 0 && v.node.Strategy != IgnoreErrors && v.intolerable(f) {
		errs := make(map[string]string, len(f.Errors))
		for i, text := range f.Errors { // order-insensitive: each once
			errs[c.names(i)] = text
		}
		failure = failedCalls(errs, c.total)
	}
	if f.stopped {
		return outcome{action, failure}, nil
	}
	return v.end(list, action, failure)
}

// join writes results as a JSON array.
func join(results []json.RawMessage) json.RawMessage {
	var list bytes.Buffer
	list.WriteByte('[')
	for i, result := range results {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(orNull(result))
	}
	list.WriteByte(']')
	return list.Bytes()
}
