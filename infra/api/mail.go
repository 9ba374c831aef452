package api

import (
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func mailEndpoints() []endpoint {
	accepted := map[int]reply{http.StatusAccepted: {"It is durable, and the run will see it.",
		wire.Accepted{}, ""}}
	fails := []port.Code{port.NotFound, port.Closed, port.Blocked, port.Conflict}
	return []endpoint{
		{method: http.MethodPost, path: "/v1/runs/{run}/signals/{name}", id: "signal-run",
			summary: "Send a run a signal",
			describe: "A run that ends before it has looked may leave it unread. Where the " +
				"signal is registered, an input of another type is refused. " +
				"The answer has a hint where the name may be wrong: the run's code has not asked " +
				"for such a signal so far, or it is not registered although others are.",
			params:  []*huma.Param{runParam(), nameParam("signal", "approve")},
			body:    wire.MailBody{},
			answers: accepted,
			fails:   fails,
			serve:   signalRun},
		{method: http.MethodPost, path: "/v1/runs/{run}/updates/{name}", id: "update-run",
			summary: "Send a run an update",
			describe: "An update is answered by the workflow. One that is not answered in time " +
				"goes on: repeat it with its id to ask again. " +
				"That the workflow rejected it is an answer, too: see phase.",
			params: []*huma.Param{runParam(), nameParam("update", "add-item"),
				waitParam("for the answer"),
				queryParam("after", afterParam("an outcome that an answer left out for its length")+" The request must have the id of the update.", matching(spotPattern), nil)}, body: wire.MailBody{},
			answers: map[int]reply{http.StatusOK: {"It is completed or rejected. An outcome that " +
				"is too long for an answer is left out: large says its size, and the same " +
				"request with after gives it in pieces.", wire.UpdateAnswer{}, wire.NextHeader},
				http.StatusAccepted: {"It is durable, and not answered yet.",
					wire.UpdateAnswer{}, ""}},
			fails: fails, serve: updateRun},
		{method: http.MethodPost, path: "/v1/runs/{run}/queries/{name}", id: "query-run",
			role: Read, summary: "Ask a run a question",
			describe: "It changes nothing. Runs that have ended answer, too.",
			params: []*huma.Param{runParam(), nameParam("query", "total"),
				queryParam("after", afterParam("a result that an answer left out for its length"),
					matching(spotPattern), nil)}, body: wire.QueryBody{},
			answers: map[int]reply{http.StatusOK: {"The workflow's answer. One that is too long " +
				"is left out: large says its size, and the same request with after gives it in " +
				"pieces.", wire.QueryAnswer{}, wire.NextHeader}},
			fails: []port.Code{port.NotFound, port.Rejected, port.Blocked}, serve: queryRun},
		{method: http.MethodPost, path: "/v1/runs/{run}/cancel", id: "cancel-run",
			summary:  "Ask a run to stop",
			describe: "Its code is told, and may clean up.",
			params:   []*huma.Param{runParam()},
			body:     wire.StopBody{},
			answers:  accepted,
			fails:    fails,
			serve:    cancelRun},
		{method: http.MethodPost, path: "/v1/runs/{run}/terminate", id: "terminate-run", role: All,
			summary:  "End a run without asking its code",
			describe: "Also one that is blocked.",
			params:   []*huma.Param{runParam()},
			body:     wire.StopBody{},
			answers:  accepted,
			fails:    fails,
			serve:    terminateRun},
		{method: http.MethodPost, path: "/v1/runs/{run}/reset", id: "reset-run", role: All,
			summary: "Have a run go on from an earlier record",
			describe: "In a new generation, also if it is blocked or has ended. What came after " +
				"that record is forgotten, but for its signals and accepted updates, which come " +
				"again. The record may be one of an earlier generation, as long as its log is kept.",
			params:  []*huma.Param{runParam()},
			body:    wire.ResetBody{},
			answers: accepted,
			fails:   []port.Code{port.NotFound, port.Blocked, port.Conflict},
			serve:   resetRun},
		{method: http.MethodGet, path: "/v1/runs/{run}/signals", id: "list-unread-signals",
			summary: "List the signals that a run has not taken",
			describe: "They are kept, for code that takes them later. The run's code is asked, " +
				"as for a query.",
			params: []*huma.Param{runParam()},
			answers: map[int]reply{http.StatusOK: {"In the order in which they came.",
				wire.UnreadSignals{}, ""}},
			fails: []port.Code{port.NotFound, port.Blocked}, serve: listUnread},
	}
}

func (c *call) mail(id string, unique bool, after int64) engine.MessageRequest {
	return engine.MessageRequest{Run: c.r.PathValue("run"), ID: id, Unique: unique, After: after}
}

func signalRun(c *call) error {
	var body wire.MailBody
	if err := c.read(&body); err != nil {
		return err
	}
	accepted, err := c.engine.Signal(c.r.Context(), c.mail(body.ID, body.Unique, body.After), c.r.PathValue("name"), body.Input)
	return c.accepted(accepted, err)
}

func (c *call) accepted(accepted engine.Accepted, err error) error {
	if err != nil {
		return err
	}
	return c.answer(http.StatusAccepted, wire.Accepted(accepted))
}

func updateRun(c *call) error {
	wait, err := c.wait()
	if err != nil {
		return err
	}
	var body wire.MailBody
	if err := c.read(&body); err != nil {
		return err
	}
	request := c.mail(body.ID, body.Unique, body.After)
	if c.isRead() {
		if body.ID == "" {
			return invalid("parameter after reads on in the answer to an update that was sent: " +
				"give its id")
		}
		wait = max(wait, c.config.Limits.RoomWithin) // it was answered: this finds the answer
	}
	answer, err := c.engine.SendUpdate(c.r.Context(), request, c.r.PathValue("name"), body.Input)
	if err != nil {
		return err
	}
	body.Input = nil // nothing large is held while the caller waits
	c.release()
	if wait > 0 && !answered(answer) {
		if ctx, end, ok := c.patience(wait); ok { // else it is accepted all the same, and not answered yet
			defer end()
			if answer, err = c.engine.AwaitUpdate(ctx, request.Run, answer); err != nil {
				return err
			}
		}
	}
	status := http.StatusAccepted
	if answered(answer) {
		status = http.StatusOK
	}
	outcome, err := answer.Outcome()
	if err != nil {
		return err
	}
	switch {
	case c.isRead() && outcome == nil:
		return busy("the answer to update %q was not found in time: try again", answer.ID)
	case c.isRead():
		return c.giveRest(fmt.Sprintf("the answer to update %q of run %q", answer.ID, request.Run),
			outcome)
	case c.leavesOut(outcome):
		answer = answer.LeaveOut()
	}
	if err := c.holdAnswer(len(answer.Result)); err != nil {
		return err
	}
	return c.answer(status, answerOf(answer))
}

func answered(answer engine.UpdateAnswer) bool {
	return answer.Phase == history.UpdateCompleted || answer.Phase == history.UpdateRejected
}

func queryRun(c *call) error {
	var body wire.QueryBody
	if err := c.read(&body); err != nil {
		return err
	}
	result, err := c.engine.Query(c.r.Context(), c.r.PathValue("run"), c.r.PathValue("name"), body.Input)
	if err != nil {
		return err
	}
	if c.isRead() {
		return c.giveRest(fmt.Sprintf("the answer to query %q of run %q", c.r.PathValue("name"),
			c.r.PathValue("run")), result)
	}
	answer := wire.QueryAnswer{Result: result}
	if c.leavesOut(result) {
		answer.Result, answer.Large = nil,
			largeOf(map[string]port.Large{port.ValueResult: port.LargeOf(result)})
	}
	if err := c.holdAnswer(len(answer.Result)); err != nil {
		return err
	}
	return c.answer(http.StatusOK, answer)
}

func cancelRun(c *call) error {
	var body wire.StopBody
	if err := c.read(&body); err != nil {
		return err
	}
	accepted, err := c.engine.Cancel(c.r.Context(), c.mail(body.ID, body.Unique, body.After), body.Reason)
	return c.accepted(accepted, err)
}

func terminateRun(c *call) error {
	var body wire.StopBody
	if err := c.read(&body); err != nil {
		return err
	}
	accepted, err := c.engine.Terminate(c.r.Context(), c.mail(body.ID, body.Unique, body.After), body.Reason)
	return c.accepted(accepted, err)
}

func resetRun(c *call) error {
	var body wire.ResetBody
	if err := c.read(&body); err != nil {
		return err
	}
	accepted, err := c.engine.Reset(c.r.Context(), c.mail(body.ID, body.Unique, body.After),
		engine.ResetPoint{Generation: body.Generation, Record: body.Record,
			ExcludeSignals: body.ExcludeSignals,
			Definition:     body.Definition}, body.Reason)
	return c.accepted(accepted, err)
}

func listUnread(c *call) error {
	unread, err := c.engine.UnreadSignals(c.r.Context(), c.r.PathValue("run"))
	if err != nil {
		return err
	}
	shown := make([]wire.UnreadSignal, 0, len(unread))
	for _, signal := range unread {
		shown = append(shown, wire.UnreadSignal(signal))
	}
	return c.answer(http.StatusOK, wire.UnreadSignals{Signals: shown})
}
