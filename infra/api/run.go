package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

const untilEnd = "until the run has ended or is blocked"

func runEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodPost, path: "/v1/runs", id: "start-run", summary: "Start a run",
			describe: "When it is answered, the start is durable. With an id it may be repeated: " +
				"the same start finds the run that is there. " +
				"A workflow that is neither registered nor published is no error: the run is " +
				"blocked until it is, and the answer has a hint. An input that does not fit " +
				"the registered workflow is refused.",
			params: []*huma.Param{waitParam(untilEnd)}, body: wire.StartBody{},
			answers: map[int]reply{http.StatusCreated: {"The run was started.", wire.Summary{},
				wire.HintHeader}, http.StatusOK: {"The same start had been accepted before: the " +
				"run as it stands.", wire.Summary{}, wire.HintHeader}},
			fails: []port.Code{port.Conflict}, serve: startRun},
		{method: http.MethodGet, path: "/v1/runs", id: "list-runs", summary: "List runs",
			describe: fmt.Sprintf("The latest start first, page by page. Values of more than %d bytes are left out: large has their sizes, and get-value gives them.",
				port.LongestListed), params: listParams(),
			answers: map[int]reply{http.StatusOK: {"One page.", wire.Page{}, ""}}, serve: listRuns},
		{method: http.MethodGet, path: "/v1/runs/{run}", id: "get-run",
			summary: "Get a run's summary",
			describe: fmt.Sprintf("Values of more than %d bytes are left out: large has their "+
				"sizes, and get-value gives them.", port.LongestShown),
			params:  []*huma.Param{runParam(), waitParam(untilEnd)},
			answers: map[int]reply{http.StatusOK: {"The run as it stands.", wire.Summary{}, ""}},
			fails:   []port.Code{port.NotFound, port.Blocked},
			serve:   getRun},
		valueEndpoint(),
		{method: http.MethodPost, path: "/v1/runs/{run}/unblock", id: "unblock-run", role: All,
			summary: "Have a blocked run tried again",
			params:  []*huma.Param{runParam()},
			answers: map[int]reply{http.StatusAccepted: {"It will be tried.", nil, ""}},
			fails:   []port.Code{port.NotFound, port.Blocked},
			serve:   unblockRun},
	}
}

func listParams() []*huma.Param {
	least, most := 1.0, float64(engine.LongestPage)
	return []*huma.Param{
		queryParam("status", "Only runs of this status.", &huma.Schema{Type: huma.TypeString, Enum: statuses}, "running"),
		queryParam("workflow", "Only runs of this workflow.", matching(plainPattern), "order"),
		queryParam("definition",
			"Only runs of this version of the published definition that workflow names.",
			&huma.Schema{Type: huma.TypeInteger, Minimum: &least}, 3),
		queryParam("blocked", "Only runs that are blocked.", &huma.Schema{Type: huma.TypeBoolean}, true),
		queryParam("attribute", "Only runs whose attribute has this value: name=value, the value as JSON. May be given more than once; then all must match.",
			&huma.Schema{Type: huma.TypeArray, Items: matching(attributePattern)}, []string{`customer="ada"`}),
		queryParam("limit", fmt.Sprintf("How many runs at most; %d if it is not given.", engine.ShortestPage),
			&huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most, Default: engine.ShortestPage}, 20),
		queryParam("cursor", "Where to go on: next of the page before.", matching(plainPattern), nil),
	}
}

func startRun(c *call) error {
	wait, err := c.wait()
	if err != nil {
		return err
	}
	var body wire.StartBody
	if err := c.read(&body); err != nil {
		return err
	}
	summary, created, err := c.engine.Start(c.r.Context(), engine.StartRequest{Run: body.Run, Workflow: body.Workflow, Input: body.Input,
		Attributes: body.Attributes, Definition: body.Definition, Reuse: body.Reuse})
	if err != nil {
		return err
	}
	// nothing large is held while the caller waits
	summary, body.Input = summary.LeaveOut(port.LongestShown), nil
	c.release()
	if summary, err = c.await(summary, wait); err != nil {
		return err
	}
	if len(c.workflows) > 0 && !c.workflows[body.Workflow] && summary.Definition == 0 {
		c.w.Header().Set(wire.HintHeader, fmt.Sprintf("no workflow %q is registered or published "+
			"here, so the run is blocked until one is; registered: %s", body.Workflow,
			strings.Join(c.engine.Workflows(), ", ")))
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return c.answer(status, summaryOf(summary.LeaveOut(port.LongestShown)))
}

// await waits until a run has ended or is blocked, or the wait is over. Where too many wait already, a start is answered at
// once, for it is done; who has asked for nothing but the wait is told.
func (c *call) await(summary *port.Summary, wait time.Duration) (*port.Summary, error) {
	if wait == 0 || settled(summary) {
		return summary, nil
	}
	ctx, end, ok := c.patience(wait)
	switch {
	case !ok && c.r.Method != http.MethodGet:
		return summary, nil
	case !ok:
		return nil, busy("%d requests wait at this moment, and there are no more at a time: try again, or ask without wait", c.rooms.waits.most)
	}
	defer end()
	latest, err := c.engine.WaitUntil(ctx, summary.Run, settled)
	if latest == nil && ctx.Err() != nil {
		return summary, nil
	}
	return latest, err
}

func settled(summary *port.Summary) bool {
	return summary.Status.Closed() || summary.Blocked != nil
}

func getRun(c *call) error {
	wait, err := c.wait()
	if err != nil {
		return err
	}
	summary, err := c.engine.Get(c.r.Context(), c.r.PathValue("run"))
	if err != nil {
		return err
	}
	if summary, err = c.await(summary.LeaveOut(port.LongestShown), wait); err != nil {
		return err
	}
	return c.answer(http.StatusOK, summaryOf(summary.LeaveOut(port.LongestShown)))
}

func listRuns(c *call) error {
	query := port.ListQuery{Workflow: c.value("workflow"), Cursor: c.value("cursor")}
	var err error
	if query.Status, err = parseStatus(c.value("status")); err != nil {
		return err
	}
	if query.Blocked, err = c.flag("blocked"); err != nil {
		return err
	}
	if query.Definition, err = c.number("definition"); err != nil {
		return err
	}
	if query.Limit, err = c.number("limit"); err != nil {
		return err
	}
	if query.Attributes, err = parseAttributes(c.queried["attribute"]); err != nil {
		return err
	}
	for {
		runs, next, err := c.engine.List(c.r.Context(), query)
		if err != nil {
			return err
		}
		shown := make([]*wire.Summary, 0, len(runs))
		for _, run := range runs {
			shown = append(shown, summaryOf(run))
		}
		err = c.answer(http.StatusOK, &wire.Page{Runs: shown, Next: next})
		if len(runs) < 2 || port.CodeOf(err) != port.TooLarge {
			return err
		}
		query.Limit = len(runs) / 2 // a page may be shorter than was asked for
	}
}

// statuses that a run can have; those of generations that go on in the next one are no run's.
var statuses = []any{string(history.Running), string(history.Completed), string(history.Failed), string(history.Cancelled), string(history.Terminated)}

func parseStatus(given string) (history.Status, error) {
	if given == "" {
		return "", nil
	}
	for _, known := range statuses {
		if known == given {
			return history.Status(given), nil
		}
	}
	return "", invalid(fmt.Sprintf("parameter status must be one of %v, not %q", statuses, given))
}

func parseAttributes(given []string) (history.Attributes, error) {
	var attributes history.Attributes
	for _, one := range given {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, invalid(fmt.Sprintf("parameter attribute must be name=value, not %q", one))
		}
		if !json.Valid([]byte(value)) {
			return nil, invalid(fmt.Sprintf("parameter attribute: the value of %s must be JSON, not %q; a text has quotes: %s=%q", name, value, name, value))
		}
		if attributes == nil {
			attributes = history.Attributes{}
		}
		if _, twice := attributes[name]; twice {
			return nil, invalid(fmt.Sprintf("parameter attribute names %s twice: all must match, and it has one value", name))
		}
		attributes[name] = history.Payload(value)
	}
	return attributes, nil
}

func unblockRun(c *call) error {
	if err := c.engine.Unblock(c.r.Context(), c.r.PathValue("run")); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusAccepted)
	return nil
}
