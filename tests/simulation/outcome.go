package simulation

import (
	"context"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// quiet checks a world in which nothing happens by itself any more: whoever waits, waits for people.
func (c *checks) quiet() {
	for _, name := range c.names() {
		run, summary := c.runs[name], c.s.summary(name)
		if summary.Blocked != nil {
			c.s.violate("run %s is still blocked: %s", name, summary.Blocked.Reason)
			return
		}
		c.letters(name, run, summary)
		for _, reset := range run.resets {
			if summary.Generation <= reset.generation {
				c.s.violate("run %s: its reset to record %d of generation %d was accepted, and is lost", name, reset.record, reset.generation)
			}
		}
		c.leftBehind(name, run)
		if summary.Status.Closed() {
			continue
		}
		c.unread(name, run)
		log := run.generations[summary.Generation]
		if log == nil {
			c.s.violate("run %s waits for ever: its generation %d was not begun", name, summary.Generation)
			return
		}
		c.shown(name, summary, log)
		if owed := log.naive.owed(); len(owed) > 0 {
			c.s.violate("run %s waits for ever, for %s", name, strings.Join(owed, ", "))
		}
		for _, p := range log.naive.pending {
			id, child := c.childOf(name, summary.Generation, p)
			if child == nil || c.s.summary(id).Status.Closed() {
				c.s.violate("run %s waits for ever, for its child %s, which is not there, or has ended", name, id)
			} else if p.asked && !child.taken[c.fromParent(toCancel, name, summary.Generation, p)] {
				c.s.violate("run %s has asked its child %s to stop, which was not told", name, id)
			}
		}
	}
}

// unread checks that no message lies in the inbox of an open run without an invocation that will look
// at it (rule 1).
func (c *checks) unread(name string, run *checkedRun) {
	for _, item := range c.s.inbox(name) {
		if _, is := item.Event.(history.Mail); is && c.isFor(name, item.Key) && !run.taken[addressed(item)] {
			c.s.violate("run %s: %s lies in its inbox, and nothing will look at it", name, item.Key)
		}
	}
}

// shown checks that a run shows what its code has published, and no more. What the generation before has published stays until
// this one has published something; a reset takes it back.
func (c *checks) shown(name string, summary *port.Summary, log *checkedLog) {
	if begun := log.last > 0 && log.records[0].Closes() == nil; !begun {
		return
	}
	if flow := log.naive.flow; flow != nil {
		c.showsFlow("run "+name, summary.State, flow)
	} else if state := number(summary.State); state != log.naive.state && (log.naive.stateSet || log.base != nil) {
		c.s.violate("run %s shows the state %d, and published %d", name, state, log.naive.state)
	}
	if have := attributesOf(summary); have != log.naive.keyed {
		c.s.violate("run %s shows the attributes %v, and has %v", name, have, log.naive.keyed)
	}
}

// letters checks that what was accepted was taken, in the order of each sender.
func (c *checks) letters(name string, run *checkedRun, summary *port.Summary) {
	last := map[string]acceptedMail{}
	for _, l := range run.letters {
		if strings.HasPrefix(l.identity, string(toReset)) {
			continue
		}
		order, taken := run.order[l.identity]
		if !taken {
			if !summary.Status.Closed() && !run.late(l.identity) {
				c.s.violate("run %s: mail %s of %s was accepted, and is lost", name, l.identity, l.sender)
			}
			continue
		}
		if !slices.Contains(run.said[l.identity], l.content) && !run.dropped[l.identity+" "+l.content] && !summary.Status.Closed() && !run.late(l.identity) {
			c.s.violate("run %s: mail %s of %s was accepted, and what was taken in its place says %v, not %s", name, l.identity, l.sender, run.said[l.identity], l.content)
		}
		if shared := slices.ContainsFunc(run.letters, func(other acceptedMail) bool { return other.identity == l.identity && other.sender != l.sender }); shared {
			continue // it may be taken for who sent it first
		}
		if l.overtakes || run.late(l.identity) || run.excluded[l.identity] || run.unanswered[l.identity] {
			continue
		}
		if before, more := last[l.sender]; more && order < run.order[before.identity] {
			c.s.violate("run %s: mail %s of %s was taken before %s", name, l.identity, l.sender, before.identity)
		}
		last[l.sender] = l
	}
}

// children checks that those were started that outlive their parent: nobody is there to miss them.
func (c *checks) children(name string, run *checkedRun) {
	for generation, log := range run.generations {
		for seq, asked := range log.asked {
			child, ok := asked.command.(*history.StartChild)
			if !ok {
				continue
			}
			id := child.Run
			if id == "" {
				id = childName(name, generation, seq, "")
			}
			if child.ParentClosePolicy == history.AbandonChildren && !log.cancelled[seq] && c.s.summary(id) == nil {
				c.s.violate("run %s: its child %s was never started", name, id)
			}
		}
	}
}

// leftovers checks that what is kept beside the logs follows from them: a long timer, or the state of an activity, of a command
// whose author had to send it. The author of the record that ends a generation sends nothing for what begins in it.
func (c *checks) leftovers() {
	timers, err := c.s.store.DueBefore(context.Background(), c.s.now.AddDate(100, 0, 0))
	if err != nil {
		c.s.violate("long timers cannot be read: %v", err)
	}
	for _, timer := range timers {
		if !c.begun(timer.Run, timer.Generation, timer.Seq) {
			c.s.violate("timer %d of generation %d of run %s is kept, and no record asks for it that others follow", timer.Seq, timer.Generation, timer.Run)
		}
	}
	for _, name := range c.names() {
		states, err := c.s.store.TasksOf(context.Background(), name)
		if err != nil {
			c.s.violate("states of activities of run %s cannot be read: %v", name, err)
		}
		for _, state := range states {
			if !c.begun(name, state.Generation, state.Seq) {
				c.s.violate("a state of activity %d of generation %d of run %s is kept, and no record asks for it that others follow", state.Seq, state.Generation, name)
			}
		}
	}
}

// begun says whether a command of a generation was recorded before the record that ended it, in that generation or in those that it
// continues after a reset.
func (c *checks) begun(name string, generation int, seq int64) bool {
	log := c.runs[name].generations[generation]
	if log == nil {
		return false
	}
	for _, rec := range log.records {
		for _, command := range rec.Commands {
			if sequenced, ok := command.(history.Sequenced); ok && sequenced.Seq() == seq && rec.Closes() == nil {
				return true
			}
		}
	}
	return log.base != nil && c.begun(name, log.base.Generation, seq)
}

// memory checks that whatever took memory has given it back: all of it is free once the live runs
// that wait are evicted.
func (c *checks) memory() {
	for _, p := range c.s.processes {
		if p.memory != nil && !p.dead && p.busy == 0 && !p.memory.TryTake(p.memory.Total()) {
			c.s.violate("%s does nothing, and %d bytes of its memory are taken", p.name, p.memory.Used())
		}
	}
}

// end checks a world in which every run was asked to end.
func (c *checks) end() {
	c.leftovers()
	c.memory()
	cold := c.newWitness()
	defer cold.engine.Close()
	for _, name := range c.names() {
		run, summary := c.runs[name], c.s.summary(name)
		view, err := c.s.store.Look(context.Background(), name, port.Position{})
		switch {
		case err != nil:
			c.s.violate("run %s cannot be read: %v", name, err)
			return
		case summary.Blocked != nil || !summary.Status.Closed():
			c.s.violate("run %s has not ended: %s, blocked %t", name, summary.Status, summary.Blocked != nil)
			return
		case len(view.Inbox) > 0:
			c.s.violate("run %s has ended, and %s is left in its inbox", name, view.Inbox[0].Key)
		}
		c.letters(name, run, summary)
		c.children(name, run)
		for id, answer := range run.answers {
			if !slices.Contains(run.logged[id], showAnswer(answer)) {
				c.s.violate("update %s of run %s was answered %s, and the log says %v", id, name, showAnswer(answer), run.logged[id])
			}
		}
		log := run.generations[summary.Generation]
		if log == nil {
			c.s.violate("run %s has ended without a log of generation %d", name, summary.Generation)
			return
		}
		c.shown(name, summary, log)
		if _, err := cold.engine.Query(cold.ctx, name, "none", nil); port.CodeOf(err) != port.NotFound {
			c.s.violate("run %s cannot be replayed: %v", name, err)
		}
		c.sameSeen("run "+name+", replayed as a whole", log, cold.lives[name])
		c.sameAnswers("run "+name+", replayed as a whole", cold, name, log)
	}
}
