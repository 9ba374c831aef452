package simulation

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

func (v *naiveVisit) executor() (string, failedAt, error) {
	result, ok, err := v.call(v.s, v.node.Service, v.input, "")
	if err != nil || !ok {
		return "", v.frame.place(), err
	}
	v.output(result, result)
	action := v.action(result)
	v.rows[len(v.rows)-1] += action
	return action, "", nil
}

// call calls a service as often as the node's retries allow.
func (v *naiveVisit) call(
	s naiveSurface, service string, input any, branch string,
) (result any, ok bool, err error) {
	path := strings.Join(append(v.frame.path(), v.frame.node), "/") + "#" + strconv.Itoa(v.step)
	if branch != "" {
		path += "[" + branch + "]"
	}
	name, isGo := strings.CutPrefix(service, "go:")
	if !isGo {
		call := map[string]any{"input": input, "params": v.params}
		if limit := v.node.CallTimeout; limit > 0 {
			call["timeout_ms"] = limit
		}
		name, input = "http:"+service, call
	}
	for attempt := 1; ; attempt++ {
		p := s.operation(&node{Verb: doCall, Mode: 1}, s.in,
			"schedule-activity %d %s.%d false 0s 0s %s %s", path, attempt, name, encoded(input))
		_, err := s.await(p)
		if ended := s.in.Err(); ended != nil {
			return nil, false, ended
		}
		result, final := any(nil), false
		if ok = err == nil; !ok {
			final = history.FailureOf(err).NonRetryable
		} else if result = valueOf(p.text); !isGo {
			result, ok, final = answerOf(result)
		}
		v.note(v.frame, branch, attempt, statusOf(!ok), "")
		if attempt > 1 {
			v.meets("retried", v.node)
		}
		if ok || final || attempt > v.node.MaxRetries {
			return result, ok, nil
		}
		if err := s.sleep(v.node.Wait); err != nil {
			return nil, false, err
		}
	}
}

// answerOf reads what a worker gave.
func answerOf(answer any) (result any, ok, final bool) {
	members, is := answer.(map[string]any)
	if !is && answer != nil {
		return nil, false, true
	}
	text, _ := members["error"].(string)
	return members["result"], text == "", false
}

func (v *naiveVisit) choice() (string, failedAt, error) {
	chosen := ""
	for _, c := range v.node.Cases {
		if v.scope(v.input).holds(c.Expr) {
			chosen = c.Action
			break
		}
	}
	v.output(v.input, v.input)
	if chosen == "" {
		chosen = v.action(map[string]any{"v": v.input})
	}
	if chosen == "" && v.node.Post.ActionKey != "" {
		chosen, _ = at(v.frame.shared, v.node.Post.ActionKey).(string)
	}
	if chosen == "" {
		chosen = v.node.DefaultAction
	}
	v.ends(chosen, false)
	return chosen, "", nil
}

func (v *naiveVisit) parallel() (string, failedAt, error) {
	inputs, names, seen := []any{}, []string{}, map[string]int{}
	for _, service := range v.node.Services {
		inputs = append(inputs, v.input)
		if seen[service]++; seen[service] > 1 {
			service += "#" + strconv.Itoa(seen[service])
		}
		names = append(names, service)
	}
	return v.calls(inputs, v.node.Services, names)
}

func (v *naiveVisit) foreach() (string, failedAt, error) {
	inputs, _ := v.input.([]any)
	var services, names []string
	for i := range inputs {
		services, names = append(services, v.node.Service), append(names, strconv.Itoa(i))
	}
	return v.calls(inputs, services, names)
}

// calls makes one call for each input, some at a time.
func (v *naiveVisit) calls(inputs []any, services, names []string) (string, failedAt, error) {
	results, ok := make([]any, len(inputs)), make([]bool, len(inputs))
	begun, ended, failed, stopped := 0, 0, 0, false
	for {
		inner, stop := v.s.scope()
		lane := func(s surface) error {
			for {
				v.measure()
				if s.(naiveSurface).in.Err() != nil || stopped || v.long || begun == len(inputs) {
					return nil //nolint:nilerr // the scope says so, too
				}
				i := begun
				begun++
				result, succeeded, err := v.call(s.(naiveSurface), services[i], inputs[i], names[i])
				if err != nil {
					return err
				}
				results[i], ok[i] = result, succeeded
				if ended++; !succeeded {
					failed++
				}
				if v.node.Strategy == "fail_fast" && v.intolerable(failed, len(inputs)) && !stopped {
					stopped = true
					stop()
				}
			}
		}
		_ = inner.parallel(slices.Repeat([]func(surface) error{lane}, v.width(len(inputs)-begun)))
		if err := v.s.in.Err(); err != nil {
			return "", "", err
		}
		if stopped || ended == len(inputs) {
			break
		}
		if err := v.continueAsNew(v.s, true); err != nil {
			return "", "", err
		}
	}
	var list any = results
	if stopped {
		successes := []any{}
		for i, result := range results {
			if ok[i] {
				successes = append(successes, result)
			}
		}
		list = successes
	}
	whole := map[string]any{"result": list}
	v.output(list, whole)
	fails := failed > 0 && v.node.Strategy != "ignore_errors" && v.intolerable(failed, len(inputs))
	action := v.action(whole)
	if !stopped {
		v.ends(action, fails)
	}
	if failed > 0 && !fails && v.node.Strategy != "ignore_errors" {
		v.meets("tolerated", v.node)
	}
	if fails {
		return action, v.frame.place(), nil
	}
	return action, "", nil
}

func (v *naiveVisit) width(left int) int {
	switch {
	case v.node.Mode != "concurrent":
		return min(1, left)
	case v.node.MaxParallel > 0:
		return min(v.node.MaxParallel, left)
	}
	return left
}

func (v *naiveVisit) intolerable(failed, total int) bool {
	if v.node.Percentage > 0 {
		return float64(failed)/float64(total) > v.node.Percentage/100
	}
	return failed > v.node.Tolerated
}

func (v *naiveVisit) subflow() (string, failedAt, error) {
	for {
		result, failed, err := v.inside()
		if err != nil {
			return "", "", err
		}
		if v.inner = v.frame; failed != "" && v.retried < v.node.MaxRetries {
			v.retried++
			v.meets("retried", v.node)
			if v.node.Wait == 0 {
				v.s.yield()
			} else if err := v.s.sleep(v.node.Wait); err != nil {
				return "", "", err
			}
			continue
		}
		if failed != "" && v.node.Strategy == "ignore_errors" {
			result, failed = nil, ""
		}
		if failed == "" {
			v.output(result, result)
		}
		return v.action(result), failed, nil
	}
}

// inside runs the flow of a subflow, or its child run.
func (v *naiveVisit) inside() (result any, failed failedAt, err error) {
	if v.node.Subflow != nil {
		v.inner = &naiveFrame{def: v.node.Subflow, node: v.node.Subflow.Start,
			shared: map[string]any{}, input: v.input, up: v.frame, depth: v.frame.depth + 1}
		failed, err = v.flow(v.s, v.inner, v.params)
		return v.innerResult(failed, err)
	}
	input := v.input
	if v.node.Prep.InputKey == "" && len(v.node.Prep.InputMap) == 0 {
		input = v.params
	}
	p := v.s.operation(&node{Verb: doChild}, v.s.in, "start-child %d %s %q %s %s",
		v.node.Workflow, "", policies[0], encoded(input))
	_, err = v.s.await(p)
	if ended := v.s.in.Err(); ended != nil {
		return nil, "", ended
	}
	v.note(v.frame, "", 1+v.retried, statusOf(err != nil), "")
	if err != nil {
		return nil, v.frame.place(), nil //nolint:nilerr // the place says that it failed
	}
	return valueOf(p.text), "", nil
}

// innerResult is the shared state of the subflow that has ended.
func (v *naiveVisit) innerResult(failed failedAt, err error) (any, failedAt, error) {
	if err != nil {
		return nil, "", err
	}
	return v.inner.shared, failed, nil
}

func (v *naiveVisit) timer() (string, failedAt, error) {
	due := v.entered.Add(milliseconds(v.params["delay_ms"]))
	if _, err := v.wait(due, func() bool { return false }); err != nil {
		return "", "", err
	}
	v.output(v.input, v.input)
	action := v.action(v.input)
	v.ends(action, false)
	return action, "", nil
}

func milliseconds(value any) time.Duration {
	number, _ := value.(float64)
	if whole, is := value.(int); is {
		number = float64(whole)
	}
	return time.Duration(number) * time.Millisecond
}

// wait waits until a condition holds, or a time has come; zero: for as long as that takes.
func (v *naiveVisit) wait(due time.Time, holds func() bool) (inTime bool, err error) {
	for {
		if err := v.s.in.Err(); err != nil {
			return false, err
		}
		if holds() {
			return true, nil
		}
		enough := func() bool { return v.long || holds() }
		left := due.Sub(v.s.now())
		switch {
		case due.IsZero():
			err = v.s.condition(enough)
		case left > 0:
			err = v.s.conditionWithin(left, enough)
		default:
			return false, nil
		}
		switch {
		case v.s.in.Err() != nil:
			return false, v.s.in.Err()
		case holds():
			return true, nil
		case errors.Is(err, history.ErrTimeout):
			return false, nil
		case err != nil:
			return false, err
		}
		if err := v.continueAsNew(v.s, true); err != nil {
			return false, err
		}
	}
}

// signal waits for a value, again where the node's retries allow it.
func (v *naiveVisit) signal(param string, there func(any) bool) (value any, ok bool, err error) {
	limit, due := milliseconds(v.params["timeout_ms"]), time.Time{}
	if limit > 0 {
		due = v.entered.Add(limit)
	}
	for {
		inTime, err := v.wait(due, func() bool {
			value = v.outward(v.params[param].(string))
			return there(value)
		})
		if err != nil || inTime {
			return copied(value), inTime, err
		}
		if v.retried >= v.node.MaxRetries {
			return nil, false, nil
		}
		v.retried++
		v.meets("retried", v.node)
		v.note(v.frame, "", v.retried, "error", "")
		due = v.s.now().Add(time.Duration(v.node.Wait)*time.Millisecond + limit)
	}
}

// outward looks for a value in the node's flow first, then in those around it.
func (v *naiveVisit) outward(reference string) any {
	for fr := v.frame; fr != nil; fr = fr.up {
		if value := (scopeOf{v.params, fr.shared, v.input}).value(reference); value != nil {
			return value
		}
	}
	return nil
}

func (v *naiveVisit) waitEvent() (string, failedAt, error) {
	there := func(value any) bool { return value != nil && value != "" && value != false }
	value, ok, err := v.signal("signal_key", there)
	if err != nil {
		return "", "", err
	}
	ok = ok || v.node.Strategy == "ignore_errors"
	whole := map[string]any{"signal": value}
	if ok {
		v.output(value, whole)
	}
	action := v.action(whole)
	v.ends(action, !ok)
	if !ok {
		return action, v.frame.place(), nil
	}
	return action, "", nil
}

func (v *naiveVisit) approval() (string, failedAt, error) {
	there := func(value any) bool { return value != nil && value != "" }
	value, ok, err := v.signal("approval_key", there)
	if err != nil {
		return "", "", err
	}
	if !ok {
		v.ends("timeout", true)
		return "timeout", v.frame.place(), nil
	}
	whole := map[string]any{"approval": value}
	v.output(value, whole)
	decision := value
	if v.node.Post.ActionKey != "" {
		decision = at(whole, v.node.Post.ActionKey)
	}
	action := v.node.Post.ActionStatic
	switch text, _ := decision.(string); {
	case decision == true:
		action = "approved"
	case decision == false:
		action = "rejected"
	case text != "":
		action = text
	}
	v.ends(action, false)
	return action, "", nil
}
