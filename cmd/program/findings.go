package program

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// inspected is what an inspection of runs found.
type inspected struct {
	Findings []wire.Finding `json:"findings"`
	Checked  int            `json:"checked"`
	// More: there are further runs, which were not read.
	More bool `json:"more"`
}

// inspect reads runs that are not finished, so many at most, or somewhat more.
func inspect(ctx context.Context, server *client.Client, most int) (inspected, error) {
	found := inspected{Findings: []wire.Finding{}}
	for cursor := ""; found.Checked < most; {
		page, err := server.Inspect(ctx, cursor)
		if err != nil {
			return found, err
		}
		found.Findings = append(found.Findings, page.Findings...)
		found.Checked += page.Checked
		if cursor = page.Next; cursor == "" {
			return found, nil
		}
	}
	found.More = true
	return found, nil
}

// isHint says of a finding that the run is all right, as far as can be known.
func isHint(f wire.Finding) bool { return f.Kind == engine.FindingSignal }

// shownFindings is how many findings of a sort are shown.
const shownFindings = 20

// chapter is one sort of findings, with what to do about them.
type chapter struct {
	title string
	kinds []string
	todo  string
}

func (p *program) chapters(found *wire.Diagnosis) []chapter {
	return []chapter{
		{"hanging: %s, waiting for something that does not come", []string{engine.FindingUnread, engine.FindingActivity, engine.FindingAttempt,
			engine.FindingStep, engine.FindingTimer, engine.FindingChild}, p.whereLost(found)},
		{"unregistered: %s, waiting for an activity that no program has", []string{engine.FindingUnregistered},
			"register the activity (program.Main; functions/task), and deploy: it is tried again by itself"},
		{"failing: %s, waiting for an activity that keeps failing", []string{engine.FindingFailing},
			"remove the cause: the activity is tried again by itself; or end the run with `" + p.name + " cancel RUN`"},
		{"unreadable: %s, of which something stored cannot be read", []string{engine.FindingUnreadable},
			"deploy the newer version if one wrote it; if it is damaged, restore it from a backup"},
		{"unread: %s, with a signal that the code does not take", []string{engine.FindingSignal},
			"compare the signal's name with the names that the workflow's code takes; a run whose code takes it later needs nothing"},
	}
}

// whereLost says what to do about messages that were lost.
func (p *program) whereLost(found *wire.Diagnosis) string {
	switch queues := found.Queues; {
	case !found.Rebuild:
		return "restart the server: it sends again, from the logs, what is missing"
	case queues != nil && queues.Ready+queues.Delayed+queues.InFlight == 0:
		return fmt.Sprintf("the queues are empty, so the messages were lost: `%s rebuild` sends them again, from the logs", p.name)
	default:
		return fmt.Sprintf("messages in flight come again once their time is over, and a backlog takes its time; "+
			"if neither explains it, `%s rebuild` sends again, from the logs, what is missing, and does no harm", p.name)
	}
}

func (p *program) writeFindings(w io.Writer, found *wire.Diagnosis, of []wire.Finding) {
	for _, chapter := range p.chapters(found) {
		var all []wire.Finding
		runs := map[string]bool{}
		for _, f := range of {
			if slices.Contains(chapter.kinds, f.Kind) {
				all = append(all, f)
				runs[f.Run] = true
			}
		}
		if len(all) == 0 {
			continue
		}
		fmt.Fprintf(w, chapter.title+"\n\n", count(len(runs), "run"))
		slices.SortStableFunc(all, func(a, b wire.Finding) int { return a.Since.Compare(b.Since) })
		for _, f := range all[:min(len(all), shownFindings)] {
			fmt.Fprintf(w, "  %s: %s\n", f.Run, p.describeFinding(f))
		}
		if left := len(all) - shownFindings; left > 0 {
			fmt.Fprintf(w, "  … and %d more: --output json has them all\n", left)
		}
		fmt.Fprintf(w, "\n%s\n\n", indent("    to do: ", chapter.todo))
	}
}

// describeFinding says what one run waits for.
func (p *program) describeFinding(f wire.Finding) string {
	numbered := fmt.Sprintf("%s (seq %d)", f.Name, f.Seq)
	switch f.Kind {
	case engine.FindingUnread:
		return fmt.Sprintf("%s has been in its inbox for %s", f.Name, p.ago(f.Since))
	case engine.FindingActivity:
		return fmt.Sprintf("activity %s: attempt %d has been due for %s, and has no answer", numbered, f.Attempt, p.ago(f.Since))
	case engine.FindingAttempt:
		return fmt.Sprintf("activity %s: attempt %d began, and has been past its timeout for %s: its function died", numbered, f.Attempt, p.ago(f.Since))
	case engine.FindingStep:
		return fmt.Sprintf("step %s has been due for %s, and no invocation runs it", numbered, p.ago(f.Since))
	case engine.FindingTimer:
		return fmt.Sprintf("timer (seq %d) has been due for %s", f.Seq, p.ago(f.Since))
	case engine.FindingChild:
		return fmt.Sprintf("child %s has not started, or its end was not told, for %s", numbered, p.ago(f.Since))
	case engine.FindingUnregistered, engine.FindingFailing:
		return fmt.Sprintf("%s: attempt %d failed; it has failed for %s\n      %s", numbered, f.Attempt-1, p.ago(f.Since), shorten(f.Failure, 2*widest))
	case engine.FindingSignal:
		return fmt.Sprintf("signal %s, for %s", f.Name, p.ago(f.Since))
	}
	return shorten(f.Failure, 2*widest)
}
