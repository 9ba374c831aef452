package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// policies are those of history, by the numbers of core/workflow.
var policies = [...]history.ParentClosePolicy{history.CancelChildren, history.TerminateChildren, history.AbandonChildren}

// childOf is the id of the run that a pending call of a child is for, and the run itself; nil: that
// was not started, or it is another's.
func (c *checks) childOf(parent string, generation int, p *promise) (id string, child *checkedRun) {
	id = childName(parent, generation, p.seq, p.node.Own)
	child = c.runs[id]
	if child == nil || child.parent == nil || *child.parent != (history.Parent{Run: parent, Generation: generation, Seq: p.seq}) {
		return id, nil
	}
	return id, child
}

// fromParent is the identity of a message that a child gets from its parent.
func (c *checks) fromParent(do doing, parent string, generation int, p *promise) string {
	return act{do: do, id: fmt.Sprintf("parent.%s.%d.%d", parent, generation, p.seq)}.identity() +
		c.recipient(childName(parent, generation, p.seq, p.node.Own))
}

// childEnds compares what a parent is told of a child with what became of that run. If another run
// has the id, the call fails, whether that run has ended or not.
func (c *checks) childEnds(where, parent string, generation int, command *history.StartChild, event *history.ChildResolved) {
	id := command.Run
	if id == "" {
		id = childName(parent, generation, event.Seq, "")
	}
	told := "complete " + canonical(event.Result)
	if event.Failure != nil {
		told = kindOf(event.Failure)
	}
	child := c.runs[id]
	switch {
	case child == nil:
		c.s.violate("%s: child %s was never started, and has ended: %s", where, id, told)
	case child.parent == nil || *child.parent != (history.Parent{Run: parent, Generation: generation, Seq: event.Seq}):
		if told != "failed:run-id-in-use" {
			c.s.violate("%s: the id of child %s is another run's, and the parent is told: %s", where, id, told)
		}
	case !slices.Contains(child.endings, told):
		c.s.violate("%s: child %s is said to have ended: %s, and has %q", where, id, told, child.endings)
	}
}

// ends notes how a run has ended, as its parent must be told.
func (r *checkedRun) ends(how string) {
	switch how {
	case "cancel":
		how = "cancelled"
	case "terminate":
		how = kindOf(history.TerminationFailure(""))
	}
	how = strings.TrimPrefix(how, "fail ")
	r.endings = append(r.endings, how)
}

// leftBehind checks that the children which a generation left behind were told, as their policies
// say. What a closing record itself asks for begins only if it outlives its parent.
func (c *checks) leftBehind(name string, run *checkedRun) {
	for generation, log := range run.generations { // order-insensitive: all are looked at
		if !log.closed {
			continue
		}
		last := log.records[len(log.records)-1]
		for _, p := range log.naive.pending {
			if p.node.Verb != doChild {
				continue
			}
			id, child := c.childOf(name, generation, p)
			together := slices.ContainsFunc(last.Commands, func(command history.Command) bool {
				start, is := command.(*history.StartChild)
				return is && start.Seq() == p.seq
			})
			policy := policies[p.node.Mode]
			switch {
			case child == nil || c.anew[id]:
			case together && policy != history.AbandonChildren:
				c.s.violate("run %s: its child %s was started, and ended with its parent", name, id)
			case policy == history.TerminateChildren && !c.s.summary(id).Status.Closed():
				c.s.violate("run %s has ended, and its child %s was not terminated", name, id)
			case policy == history.CancelChildren && !c.s.summary(id).Status.Closed() && !child.taken[c.fromParent(toCancel, name, generation, p)]:
				c.s.violate("run %s has ended, and its child %s was not told", name, id)
			case policy == history.AbandonChildren && (child.taken[c.fromParent(toTerminate, name, generation, p)] ||
				!p.asked && child.taken[c.fromParent(toCancel, name, generation, p)]):
				c.s.violate("run %s has ended, and its child %s was told, and should not be", name, id)
			}
		}
	}
}
