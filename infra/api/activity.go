package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func activityEndpoints() []endpoint {
	done := map[int]reply{http.StatusNoContent: {"It is durable, and the run will see it.", nil, ""}}
	fails := []port.Code{port.NotFound, port.Blocked}
	byToken := []port.Code{port.NotFound, port.Expired, port.Blocked}
	params := []*huma.Param{tokenParam()}
	return []endpoint{
		{method: http.MethodGet, path: "/v1/runs/{run}/activities", id: "list-activities",
			summary: "List a run's activities under way",
			describe: "Those that heartbeat, run long, have failed before, or wait to be " +
				"completed from outside. Others are only in the run's history.",
			params:  []*huma.Param{runParam()},
			answers: map[int]reply{http.StatusOK: {"Activities under way.", wire.Activities{}, ""}},
			fails:   fails, serve: listActivities},
		{method: http.MethodGet, path: "/v1/runs/{run}/activities/{seq}/details",
			id:       "get-activity-details",
			summary:  "Read what an activity's last heartbeat said, whole",
			describe: "The list of activities leaves long details out.",
			params: []*huma.Param{runParam(), {Name: "seq", In: "path", Required: true,
				Description: "The number of the run's command: seq of the list.",
				Example:     2,
				Schema:      whole(1)},
				queryParam("after", afterParam("the details"), matching(spotPattern), nil)},
			answers: map[int]reply{http.StatusOK: {"The details, or a piece of their text.",
				json.RawMessage(nil), wire.NextHeader}},
			fails: append(fails, port.Conflict), serve: getDetails},
		{method: http.MethodPost, path: "/v1/activities/{token}/complete", id: "complete-activity",
			completes: true, summary: "Complete an activity from outside",
			describe: "By the token that the activity was given and passed on. It is good for " +
				"one answer, until the attempt's time is over; the same answer may be repeated.",
			params:  params,
			body:    wire.CompleteBody{},
			answers: done,
			fails:   byToken,
			serve:   completeActivity},
		{method: http.MethodPost, path: "/v1/activities/{token}/fail", id: "fail-activity",
			completes: true, summary: "Fail an activity from outside",
			describe: "It is final: the activity is not tried again.",
			params:   params,
			body:     wire.FailBody{},
			answers:  done,
			fails:    byToken,
			serve:    failActivity},
		{method: http.MethodPost, path: "/v1/activities/{token}/heartbeat",
			id:        "heartbeat-activity",
			completes: true,
			summary:   "Say that an activity is being worked on",
			params:    params,
			body:      wire.HeartbeatBody{},
			answers:   map[int]reply{http.StatusOK: {"Whether to go on.", wire.Beat{}, ""}},
			fails:     byToken, serve: heartbeatActivity},
	}
}

func listActivities(c *call) error {
	run := c.r.PathValue("run")
	if _, err := c.engine.Get(c.r.Context(), run); err != nil {
		return err
	}
	states, err := c.engine.ActivitiesOf(c.r.Context(), run)
	if err != nil {
		return err
	}
	shown := make([]*wire.ActivityState, 0, len(states))
	for _, state := range states {
		shown = append(shown, activityOf(state.LeaveOut(port.LongestListed)))
	}
	return c.answer(http.StatusOK, wire.Activities{Activities: shown})
}

func getDetails(c *call) error {
	run := c.r.PathValue("run")
	seq, err := strconv.ParseInt(c.r.PathValue("seq"), 10, 64)
	if err != nil {
		return invalid(fmt.Sprintf("%.100q is not the number of a command: take seq of the list "+
			"of activities", c.r.PathValue("seq")))
	}
	if _, err := c.engine.Get(c.r.Context(), run); err != nil {
		return err
	}
	states, err := c.engine.ActivitiesOf(c.r.Context(), run)
	if err != nil {
		return err
	}
	for _, state := range states {
		if state.Seq == seq {
			return c.giveRest(fmt.Sprintf("what activity %d of run %q said", seq, run),
				state.Details)
		}
	}
	return &port.Error{Code: port.NotFound,
		Message: fmt.Sprintf("activity %d of run %q is not pending: list-activities lists those "+
			"that are", seq, run)}
}

func completeActivity(c *call) error {
	var body wire.CompleteBody
	if err := c.read(&body); err != nil {
		return err
	}
	return c.resolve(body.Result, nil)
}

func failActivity(c *call) error {
	var body wire.FailBody
	if err := c.read(&body); err != nil {
		return err
	}
	if body.Message == "" {
		return invalid(`field "message" is empty: say what happened`)
	}
	return c.resolve(nil, &history.Failure{FailureKind: history.Application, Type: body.Type, Message: body.Message, Details: body.Details,
		NonRetryable: body.NonRetryable})
}

func (c *call) resolve(result history.Payload, failure *history.Failure) error {
	if err := c.engine.CompleteActivity(c.r.Context(), c.r.PathValue("token"), result, failure); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func heartbeatActivity(c *call) error {
	var body wire.HeartbeatBody
	if err := c.read(&body); err != nil {
		return err
	}
	cancelled, err := c.engine.HeartbeatActivity(c.r.Context(), c.r.PathValue("token"), body.Details)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, wire.Beat{Cancelled: cancelled})
}
