package program

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// progress shows what happens to a run while somebody waits, line by line: what is new, and nothing twice.
type progress struct {
	*program
	server *client.Client
	run    string
	state  bool // show what the run publishes and does, not only why it does not go on
	nodes  bool // show the nodes of a flow, in the place of what it publishes

	seen       bool // the server has answered
	generation int
	published  string
	blocked    *wire.Block
	tasks      map[callKey]shownTask
	lastRow    int    // the number of the last node run that was shown
	at         string // the node where the run was
}

// shownTask is what was said of an activity.
type shownTask struct {
	attempt int
	pending bool
	beat    time.Time
}

// Looks come later and later, and heartbeats are many.
const (
	firstLook   = 250 * time.Millisecond
	longestLook = 2 * time.Second
	betweenBeat = 5 * time.Second
)

// during does something that takes its time, and looks at the run again and again meanwhile.
func (s *progress) during(ctx context.Context, work func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	pause := firstLook
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
			s.look(ctx)
			pause = min(2*pause, longestLook)
			timer.Reset(pause)
		}
	}
}

// look shows what is new. That the server does not answer is for the one who waits to say.
func (s *progress) look(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, longestLook)
	defer stop()
	now, err := look(ctx, s.server, s.run)
	if err == nil {
		s.seen = true
		s.show(now.Summary, now.Activities)
		s.showNodes(ctx, now.Summary)
	}
}

func (s *progress) show(run *wire.Summary, activities []*wire.ActivityState) {
	line := func(format string, args ...any) {
		s.say("  +%-6s %s", s.ago(run.Started), fmt.Sprintf(format, args...))
	}
	if s.generation != 0 && s.generation != run.Generation {
		line("generation %d", run.Generation)
	}
	s.generation = run.Generation
	if state := brief(run.State); s.state && !s.nodes && state != "" && state != s.published &&
		!run.Status.Closed() {
		line("state %s", state)
		s.published = state
	}
	switch {
	case run.Status.Closed():
	case run.Blocked != nil && (s.blocked == nil || !s.blocked.Since.Equal(run.Blocked.Since)):
		line("blocked (%s): it goes on by itself once the cause is gone", run.Blocked.Reason)
		s.say("%s", indent("           ", run.Blocked.Message))
	case run.Blocked == nil && s.blocked != nil:
		line("no longer blocked")
	}
	s.blocked = run.Blocked
	if s.state {
		for _, activity := range activities {
			s.showTask(line, activity)
		}
	}
}

// callKey names a call of an activity.
type callKey struct {
	generation int
	seq        int64
}

func (s *progress) showTask(line func(string, ...any), now *wire.ActivityState) {
	if s.tasks == nil {
		s.tasks = map[callKey]shownTask{}
	}
	key := callKey{now.Generation, now.Seq}
	was := s.tasks[key]
	called := "activity " + now.Activity
	if now.Step {
		called = "step " + now.Activity
	}
	if now.Attempt > max(was.attempt, 1) && now.Failure != "" {
		line("%s: attempt %d failed: %s; %s", called, now.Attempt-1, shorten(now.Failure, widest), attempt(now, s.now()))
	}
	if now.Pending && !was.pending {
		line("activity %s waits to be completed by its token", now.Activity)
	}
	beat := was.beat
	if now.Details != nil && now.Beat.Sub(was.beat) > betweenBeat {
		line("activity %s: %s", now.Activity, brief(now.Details))
		beat = now.Beat
	}
	s.tasks[key] = shownTask{attempt: now.Attempt, pending: now.Pending, beat: beat}
}
