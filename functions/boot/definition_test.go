package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// published is a flow that calls the activity greet.
const published = `{"start":"greet","nodes":{"greet":{"kind":"executor","service":"go:greet",
	"prep":{"input_key":"$params.name"},"post":{"output_key":"said"}}}}`

const ada = "arn:aws:iam::1:user/ada"

// TestAFlowIsPublishedToADeployment: functions/api takes a flow, functions/activate runs it, and
// functions/task its activity. functions/task knows no interpreter.
func TestAFlowIsPublishedToADeployment(t *testing.T) {
	b := newBench(t)
	task := b.System
	interpreting := func() *System {
		return b.rebuilt(func(p *Parts) { require.NoError(t, interprets(t.Context(), nil, p)) })
	}
	handler, err := interpreting().apiHandler()
	require.NoError(t, err)
	call := func(path string, body any) string {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		event, err := json.Marshal(map[string]any{"path": path, "httpMethod": "POST",
			"body":           string(text),
			"requestContext": map[string]any{"identity": map[string]string{"userArn": ada}}})
		require.NoError(t, err)
		answer := invoke(t, handler.(func(context.Context, json.RawMessage) (any, error)), string(event))
		require.Equal(t, http.StatusCreated, answer.StatusCode, answer.Body)
		return answer.Body
	}
	publish := wire.PublishBody{Name: "welcome", Kind: "flow", Source: published}
	require.Contains(t, call("/v1/definitions", publish), `"publisher":"`+ada+`"`)
	start := wire.StartBody{Run: "r", Workflow: "welcome", Input: history.Payload(`{"name":"Ann"}`)}
	require.Contains(t, call("/v1/runs", start), `"definition":1`)

	for range 2 { // start, then the activity's result; each time in a new process
		response, err := interpreting().HandleResumes(t.Context(),
			events.SQSEvent{Records: b.take(resumesURL, 1)})
		require.Empty(t, failed(t, response, err))
		response, err = task.HandleTasks(t.Context(), events.SQSEvent{Records: b.take(tasksURL, 1)})
		require.Empty(t, failed(t, response, err))
	}
	summary, err := b.store.Summary(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, history.Completed, summary.Status,
		fmt.Sprint(summary.Blocked, summary.Failure))
	require.JSONEq(t, `{"said":"hello Ann"}`, string(summary.Result))
}

// TestACallerOfAnHTTPAPIHasAName: the other kind of event names the caller elsewhere.
func TestACallerOfAnHTTPAPIHasAName(t *testing.T) {
	b := newBench(t)
	handler, err := b.rebuilt(func(p *Parts) {
		require.NoError(t, interprets(t.Context(), nil, p))
	}).apiHandler()
	require.NoError(t, err)
	answer := invoke(t, handler.(func(context.Context, json.RawMessage) (any, error)), `{"version":"2.0","rawPath":"/v1/definitions",
		"requestContext":{"http":{"method":"POST"},"authorizer":{"iam":{"userArn":"`+ada+`"}}},
		"body":"{\"name\":\"a\",\"kind\":\"flow\",\"source\":\"{\\\"start\\\":\\\"t\\\",\\\"nodes\\\":{\\\"t\\\":{\\\"kind\\\":\\\"timer\\\",\\\"params\\\":{\\\"delay_ms\\\":1}}}}\"}"}`)
	require.Equal(t, http.StatusCreated, answer.StatusCode, answer.Body)
	require.Contains(t, answer.Body, `"publisher":"`+ada+`"`)
}
