package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func repairEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/v1/doctor", id: "get-diagnosis", role: Read,
			summary: "Look for what does not go on by itself",
			describe: "Runs that are blocked, timers that nobody fires, messages that nobody " +
				"could read. It changes nothing.",
			answers: map[int]reply{http.StatusOK: {"What was found.", wire.Diagnosis{}, ""}},
			serve:   getDiagnosis},
		{method: http.MethodGet, path: "/v1/doctor/runs", id: "inspect-runs", role: Read,
			summary: "Look for runs that hang",
			describe: "Reads runs that are not finished, page by page: repeat it with next as " +
				"the cursor until there is none. It reports activities past " +
				"their timeout, lost timers, children and steps, inbox items that no invocation " +
				"takes, and activities that keep failing. It changes nothing.",
			params: []*huma.Param{queryParam("cursor", "Where to continue: next of the page "+
				"before.", matching(plainPattern), nil)},
			answers: map[int]reply{http.StatusOK: {"What one page of runs waits for in vain.",
				wire.Inspection{}, ""}},
			serve: inspectRuns},
		{method: http.MethodPost, path: "/v1/rebuild", id: "rebuild-queues",
			summary: "Bring back what was in the queues",
			describe: "For when queues were lost: from logs and inboxes, everything that is " +
				"under way is sent again, and blocked runs are tried again, " +
				"page by page: repeat it with next as the cursor until there is none. Again does " +
				"no harm.",
			params: []*huma.Param{queryParam("cursor", "Where to go on: next of the page before.",
				matching(plainPattern), nil)},
			answers: map[int]reply{http.StatusOK: {"One page is rebuilt.", wire.Rebuilt{}, ""}},
			fails:   []port.Code{port.Conflict}, serve: rebuildQueues},
	}
}

func getDiagnosis(c *call) error {
	found, err := c.engine.Diagnose(c.r.Context())
	if err != nil {
		return err
	}
	answer := &wire.Diagnosis{Blocked: []wire.BlockedRun{}, MoreBlocked: found.MoreBlocked,
		Overdue: []wire.OverdueTimer{}}
	for _, run := range found.Blocked {
		answer.Blocked = append(answer.Blocked,
			wire.BlockedRun{Run: run.Run, Workflow: run.Workflow, Reason: run.Reason,
				Message: run.Message,
				Since:   run.Since, Version: run.Version})
	}
	for _, timer := range found.Overdue {
		answer.Overdue = append(answer.Overdue,
			wire.OverdueTimer{Run: timer.Run, Generation: timer.Generation, Seq: timer.Seq,
				At: timer.At})
	}
	switch queues, err := c.queues(); {
	case err != nil: // the rest is worth saying all the same
		answer.Unseen = []string{"the queues: " + err.Error()}
	default:
		answer.Queues = queues
	}
	answer.Rebuild = c.config.Rebuild
	if c.config.Healthy != nil {
		if err := c.config.Healthy(c.r.Context()); err != nil {
			answer.Writes = err.Error()
		}
	}
	answer.Healthy = answer.Writes == "" && len(answer.Blocked) == 0 && len(answer.Overdue) == 0 && len(answer.Unseen) == 0 && (answer.Queues == nil || answer.Queues.Dead == 0)
	return c.answer(http.StatusOK, answer)
}

// queues says how they are; nil where nobody knows.
func (c *call) queues() (*wire.Queues, error) {
	if c.config.Queues != nil {
		queues, err := c.config.Queues(c.r.Context())
		return &queues, err
	}
	if c.config.Backlog == nil {
		return nil, nil
	}
	queues := &wire.Queues{}
	queues.Ready, queues.Delayed, queues.InFlight = c.config.Backlog()
	return queues, nil
}

func rebuildQueues(c *call) error {
	if !c.config.Rebuild {
		return &port.Error{Code: port.Conflict, Message: "this server has its queues in its own " +
			"memory and rebuilds them at each start: " +
			"while it is up, there is nothing to bring back"}
	}
	ctx, cancel := c.paged()
	defer cancel()
	done, next, err := c.engine.RebuildPage(ctx, c.value("cursor"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, &wire.Rebuilt{Open: done.Open, Sent: done.Sent,
		Unblocked: done.Unblocked, Next: next})
}

// paged is the time in which a page is answered: longer, no caller waits.
func (c *call) paged() (context.Context, context.CancelFunc) {
	const most = 25 * time.Second
	return context.WithTimeout(c.r.Context(), min(most, c.config.LongestWait))
}

func inspectRuns(c *call) error {
	ctx, cancel := c.paged()
	defer cancel()
	part, err := c.engine.Inspect(ctx, c.value("cursor"))
	if err != nil {
		return err
	}
	answer := &wire.Inspection{Findings: []wire.Finding{}, Checked: part.Checked, Next: part.Next}
	for _, f := range part.Findings {
		answer.Findings = append(answer.Findings, wire.Finding(f))
	}
	return c.answer(http.StatusOK, answer)
}
