package engine

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// lookAhead is how far functions/timer looks: what is due within it is handed to the queue, delayed to the second.
const lookAhead = longestDelay - time.Minute

// FireDue hands the timers that are due soon to the queue: functions/timer, each minute. It sends the resume that carries the
// firing, then deletes the item; and it begins with the oldest item there is, so that an outage loses none (rule 8).
func (e *Engine) FireDue(ctx context.Context) (fired int, err error) {
	now := e.Clock.Now()
	for {
		timers, err := e.Due.DueBefore(ctx, now.Add(lookAhead))
		if err != nil || len(timers) == 0 {
			return fired, err
		}
		resumes := make([]port.Resume, len(timers))
		for i, timer := range timers {
			resumes[i] = e.firing(timer, timer.At.Sub(now))
		}
		if err := e.Queue.SendResumes(ctx, resumes...); err != nil {
			return fired, err
		}
		if err := e.Due.DeleteDue(ctx, timers); err != nil {
			return fired, err
		}
		fired += len(timers)
	}
}
