package simulation

import (
	"errors"
	"strconv"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// scheduled is what the world knows of an activity's call.
func (c *checks) scheduled(run string, generation int, seq int64) (of asked, log *checkedLog, known bool) {
	r := c.runs[run]
	if r == nil {
		return asked{}, nil, false
	}
	if log = r.generations[generation]; log == nil {
		return asked{}, nil, false
	}
	of, known = log.asked[seq]
	if known && of.generation != generation && len(log.records) > 0 { // a reset asks for it again
		of.at, of.put = log.records[0].Time, log.put
	}
	return of, log, known
}

// inTime checks that an attempt begins within its activity's limits. The lock is held.
func (c *checks) inTime(w *job, n *node, run string, generation int, seq int64, attempt int) {
	of, _, known := c.scheduled(run, generation, seq)
	if !known {
		return
	}
	if late := c.s.now.Sub(of.put) - c.s.limits.skew; n.Whole > 0 && late > n.Whole {
		c.s.violate("attempt %d of %s begins %s after its schedule-to-close of %s", attempt, w.key, late-n.Whole, n.Whole)
	}
	if attempt > 1 || n.ToStart == 0 {
		return
	}
	if late := c.received[w.key].Sub(of.put) - c.s.limits.skew; late > n.ToStart {
		c.s.violate("the first attempt of %s begins %s after its schedule-to-start of %s", w.key, late-n.ToStart, n.ToStart)
	}
	if _, before := c.began[w.key]; !before {
		c.began[w.key] = c.s.now
	}
}

// takes notes when a function first receives an activity's first attempt.
func (c *checks) takes(task *port.Task) {
	key := workKey(task.Run, task.Generation, strconv.FormatInt(task.Command.Seq(), 10))
	if _, before := c.received[key]; !before && task.Attempt == 1 {
		c.received[key] = c.s.now
	}
}

// limits checks that an activity which failed for a limit had its time.
func (c *checks) limits(where string, run string, generation int, event *history.ActivityResolved) {
	of, log, known := c.scheduled(run, generation, event.Seq)
	if !known || event.Failure == nil || event.Failure.FailureKind != history.Timeout {
		return
	}
	n := c.nodes[log.naive.code.program.Name+"."+of.command.(*history.ScheduleActivity).ID]
	if n == nil { // a flow's calls have other limits
		return
	}
	limit, limited := map[string]time.Duration{history.ScheduleToClose: n.Whole, history.ScheduleToStart: n.ToStart}[event.Failure.Type]
	if !limited {
		return
	}
	if early := of.at.Add(limit - c.s.limits.skew).Sub(c.s.now); limit == 0 || early > 0 {
		c.s.violate("%s: activity %s fails %s before its %s of %s", where, n.ID, early, event.Failure.Type, limit)
	}
	began, has := c.began[workKey(run, generation, strconv.FormatInt(event.Seq, 10))]
	if event.Failure.Type == history.ScheduleToStart && has && !began.After(of.at.Add(limit-c.s.limits.skew)) {
		c.s.violate("%s: activity %s fails for its schedule-to-start of %s, and has begun after %s", where, n.ID, limit, began.Sub(of.at))
	}
}

// answered compares the time and the outcome of an activity with those that its node and its limits
// give it, in a world where nothing fails and nothing waits for a function.
func (c *checks) answered(run string, item port.Item) {
	event, ok := item.Event.(*history.ActivityResolved)
	if !ok {
		return
	}
	generation := 0
	for g := range c.runs[run].generations { // order-insensitive: there is one
		if event.Key(g) == item.Key {
			generation = g
		}
	}
	if c.s.limits.together { // the process may lose it, and has deleted the attempt's state
		delete(c.began, workKey(run, generation, strconv.FormatInt(event.Seq, 10)))
	}
	if !c.s.limits.exact || generation == 0 || c.runs[run].generations[generation].base != nil {
		return
	}
	of, log, known := c.scheduled(run, generation, event.Seq)
	cancelled := event.Failure != nil && errors.Is(event.Failure, history.ErrCancelled)
	if !known || cancelled || log.closed || !c.s.queue.crowded.Before(of.at) || log.naive.asks(event.Seq) {
		return
	}
	n := c.nodes[log.naive.code.program.Name+"."+of.command.(*history.ScheduleActivity).ID]
	if n == nil || n.Later > 0 {
		return // it depends on its completer
	}
	lifetime := c.s.limits.lifetime
	if c.s.limits.together {
		lifetime = 0
	}
	took, outcome := n.course(workTime(run, generation, event.Seq), lifetime)
	var err error
	if event.Failure != nil {
		err = event.Failure
	}
	if have := kindOf(err); c.s.now.Sub(of.at) != took || have != outcome {
		c.s.violate("activity %s of generation %d of run %s ends after %s: %s, and should after %s: %s", n.ID, generation, run, c.s.now.Sub(of.at), have, took, outcome)
	}
}

// asks says whether the code has asked an operation to stop.
func (n *naive) asks(seq int64) bool {
	for _, p := range n.pending {
		if p.seq == seq {
			return p.asked
		}
	}
	return true // it does not wait for it
}

// course is when an activity ends after its call, and how. Work is what an attempt takes, and
// lifetime how long its function lives.
func (n *node) course(work, lifetime time.Duration) (at time.Duration, outcome string) {
	const filing, longest = 2 * time.Second, time.Minute
	for number := 1; ; number++ {
		if n.Whole > 0 && at > n.Whole {
			return at, "timeout"
		}
		limit, last := longest, false
		if n.Hangs {
			limit = n.D
		}
		if lifetime > 0 {
			limit = min(limit, lifetime-min(filing, lifetime/5))
		}
		if left := n.Whole - at; n.Whole > 0 && left < limit {
			limit, last = left, true
		}
		took := work + time.Duration(n.Beats)*beatTime
		if n.Hangs && number == 1 {
			took = limit
		}
		at += min(took, limit)
		switch {
		case took < limit && number > n.Fails && n.Dies != "":
			return at, "failed:" + n.Dies
		case took < limit && number > n.Fails:
			return at, "ok"
		case took < limit:
			outcome = "failed:again"
		default:
			outcome = "timeout"
		}
		wait := time.Second << (number - 1)
		if last && took >= limit || n.Whole > 0 && at+wait > n.Whole {
			return at, outcome
		}
		at += wait
	}
}
