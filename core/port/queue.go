package port

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Queue sends messages: at least once, in any order, after their delay. It may group them; an error
// names none of them, and any may have been sent.
type Queue interface {
	SendResumes(ctx context.Context, messages ...Resume) error
	SendTasks(ctx context.Context, messages ...Task) error
}

// Resume is the message that has a run looked at, by functions/activate.
type Resume struct {
	Run   string
	Delay time.Duration
	// Unblocks is the id of the mark that is taken off first; empty: none.
	Unblocks string
	// Carries is filed first, if it is not nil.
	Carries *Item
	// Creates is the summary that goes with a carried start.
	Creates *Summary
}

// Task is the message that has one attempt of an activity executed, by functions/task.
type Task struct {
	Run        string
	Generation int
	// Origin is the generation whose log has the command, where a reset kept it from an earlier
	// one. Zero: Generation.
	Origin  int
	Command *history.ScheduleActivity
	// Scheduled is when the run decided on it; Sent when this attempt became due.
	Scheduled, Sent time.Time
	Attempt         int // from 1
	// Failed shows the last attempts that failed, oldest first.
	Failed []history.Attempt
	// Expire: this is no attempt, but a look at whether the attempt that is completed from outside
	// is still on time.
	Expire bool
	Delay  time.Duration
}

// Limit is how long its attempt may run; zero: it has no limit of its own.
func (t *Task) Limit() time.Duration {
	switch limit := t.Command.Options.StartToClose; {
	case limit == 0:
		return StartToClose
	case limit < 0:
		return 0
	default:
		return limit
	}
}

// StartToClose is how long an attempt may take where its call does not say.
const StartToClose = time.Minute

// Key names the call.
func (t *Task) Key() TaskKey {
	return TaskKey{Run: t.Run, Generation: t.Generation, Seq: t.Command.Seq()}
}
