package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/infra/api"
)

// echo answers with what it was asked, the body turned round where it is binary.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Add("X-Twice", "a")
	w.Header().Add("X-Twice", "b")
	if r.URL.Query().Get("binary") != "" {
		_, _ = w.Write([]byte{0xff, 0xfe})
		return
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "%s %q %q host=%s type=%s body=%s", r.Method, r.URL.Path, r.URL.RawQuery, r.Host, r.Header.Get("Content-Type"), body)
}

// TestGateway: both kinds of event, as AWS documents them, reach the same handler as the same request.
func TestGateway(t *testing.T) {
	g := gateway{http.HandlerFunc(echo)}
	for name, c := range map[string]struct{ event, want string }{
		"REST": {`{"resource":"/{proxy+}","path":"/v1/runs/o%201","httpMethod":"POST","headers":{"Host":"h","content-type":"application/json"},
			"multiValueHeaders":{"Host":["h"],"content-type":["application/json"]},"queryStringParameters":{"attribute":"b"},
			"multiValueQueryStringParameters":{"attribute":["a=1 2","b"]},"body":"{\"a\":1}","isBase64Encoded":false}`,
			`POST "/v1/runs/o 1" "attribute=a%3D1+2&attribute=b" host=h type=application/json body={"a":1}`},
		"REST, single values": {`{"path":"/v1/runs","httpMethod":"GET","headers":{"Host":"h"},"queryStringParameters":{"limit":"3"},"body":null}`,
			`GET "/v1/runs" "limit=3" host=h type= body=`},
		"REST, base64": {`{"path":"/v1/runs","httpMethod":"POST","headers":{"Host":"h"},"body":"eyJhIjoxfQ==","isBase64Encoded":true}`,
			`POST "/v1/runs" "" host=h type= body={"a":1}`},
		"REST, not escaped": {`{"path":"/v1/runs/100% ü?","httpMethod":"GET","headers":{"Host":"h"}}`,
			`GET "/v1/runs/100% ü?" "" host=h type= body=`},
		"HTTP": {`{"version":"2.0","routeKey":"$default","rawPath":"/v1/runs/o%201","rawQueryString":"attribute=a%3D1&attribute=b","headers":{"host":"h","content-type":"application/json"},
			"requestContext":{"http":{"method":"POST","path":"/v1/runs"},"stage":"$default"},"body":"{\"a\":1}","isBase64Encoded":false}`,
			`POST "/v1/runs/o 1" "attribute=a%3D1&attribute=b" host=h type=application/json body={"a":1}`},
		"HTTP, of a named stage": {`{"version":"2.0","rawPath":"/prod/v1/runs","headers":{"host":"h"},"requestContext":{"http":{"method":"GET"},"stage":"prod"}}`,
			`GET "/v1/runs" "" host=h type= body=`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := invoke(t, g.Invoke, c.event)
			require.Equal(t, http.StatusAccepted, answer.StatusCode)
			require.Equal(t, c.want, answer.Body)
			require.False(t, answer.IsBase64Encoded)
			if answer.MultiValueHeaders != nil {
				require.Equal(t, []string{"a", "b"}, answer.MultiValueHeaders["X-Twice"])
			} else {
				require.Equal(t, "a,b", answer.Headers["X-Twice"])
			}
		})
	}
}

func TestGatewayAnswersWithBytes(t *testing.T) {
	answer := invoke(t, gateway{http.HandlerFunc(echo)}.Invoke, `{"path":"/","httpMethod":"GET","queryStringParameters":{"binary":"1"}}`)
	require.True(t, answer.IsBase64Encoded)
	require.Equal(t, "//4=", answer.Body)
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

func TestGatewayRefusesWhatIsNoRequest(t *testing.T) {
	for _, event := range []string{`[]`, `{"version":"2.0","rawPath":7}`, `{"path":"/","httpMethod":"NO METHOD"}`, `{"path":"/","httpMethod":"POST","body":"%","isBase64Encoded":true}`} {
		_, err := gateway{http.HandlerFunc(echo)}.Invoke(t.Context(), json.RawMessage(event))
		require.Error(t, err, event)
	}
}

// TestTheDocumentOfADeployment: callers find the address with its stage in it, and how to sign.
func TestTheDocumentOfADeployment(t *testing.T) {
	b := newBench(t)
	for access, signed := range map[api.Access]bool{api.BySignature: true, api.ByNothing: false} {
		b.Access = access
		handle, err := b.apiHandler()
		require.NoError(t, err)
		serve := handle.(func(context.Context, json.RawMessage) (any, error))
		for event, address := range map[string]string{
			`{"path":"/v1/openapi.json","httpMethod":"GET","requestContext":{"domainName":"id.execute-api.eu-central-1.amazonaws.com",
				"path":"/live/v1/openapi.json","stage":"live"}}`: "https://id.execute-api.eu-central-1.amazonaws.com/live",
			`{"path":"/v1/openapi.json","httpMethod":"GET","requestContext":{"domainName":"runs.example.com","path":"/v1/openapi.json"}}`:    "https://runs.example.com",
			`{"version":"2.0","rawPath":"/prod/v1/openapi.json","requestContext":{"http":{"method":"GET"},"stage":"prod","domainName":"d"}}`: "https://d/prod",
			`{"version":"2.0","rawPath":"/v1/openapi.json","requestContext":{"http":{"method":"GET"},"stage":"$default","domainName":"d"}}`:  "https://d",
			`{"path":"/v1/openapi.json","httpMethod":"GET"}`: "/",
		} {
			var document struct {
				Servers    []struct{ URL string }
				Security   []map[string]any
				Components struct{ SecuritySchemes map[string]map[string]any }
			}
			answer := invoke(t, serve, event)
			require.Equal(t, http.StatusOK, answer.StatusCode)
			require.NoError(t, json.Unmarshal([]byte(answer.Body), &document))
			require.Len(t, document.Servers, 1)
			require.Equal(t, address, document.Servers[0].URL)
			require.NotContains(t, answer.Body, `"bearer"`)
			if !signed {
				require.Empty(t, document.Security)
				continue
			}
			require.Equal(t, []map[string]any{{"sigv4": []any{}}}, document.Security)
			require.Equal(t, "awsSigv4", document.Components.SecuritySchemes["sigv4"]["x-amazon-apigateway-authtype"])
		}
	}
}

// TestWhatADeploymentServes: a deployment counts the messages of its queues, rebuilds them, and
// names its version. It refuses a request that its memory cannot hold.
func TestWhatADeploymentServes(t *testing.T) {
	b := newBench(t)
	b.System = b.rebuilt(func(p *Parts) { p.Version, p.Memory = "7", memory.New(1<<20) })
	handle, err := b.apiHandler()
	require.NoError(t, err)
	call := func(method, path, body string) answered {
		event, err := json.Marshal(map[string]string{"httpMethod": method, "path": path,
			"body": body})
		require.NoError(t, err)
		return invoke(t, handle.(func(context.Context, json.RawMessage) (any, error)), string(event))
	}
	doctor := call("GET", "/v1/doctor", "").Body
	require.Contains(t, doctor, "did not count its messages",
		"the fake queues are asked, and refuse")
	require.Equal(t, http.StatusOK, call("POST", "/v1/rebuild", "").StatusCode)
	require.Contains(t, call("GET", "/v1/info", "").Body, `"version":"7"`)
	start := `{"workflow":"hello","input":"` + strings.Repeat("x", 2<<20) + `"}`
	require.Equal(t, http.StatusRequestEntityTooLarge, call("POST", "/v1/runs", start).StatusCode)
}

// TestEventsThatAreNotHTTPAreErrors: an answer of any kind, a 404 too, would have SQS delete the
// message.
func TestEventsThatAreNotHTTPAreErrors(t *testing.T) {
	served := gateway{http.HandlerFunc(func(http.ResponseWriter, *http.Request) { require.Fail(t, "the handler was called") })}
	for source, event := range map[string]string{
		"SQS":            `{"Records":[{"messageId":"1","body":"{\"v\":1,\"run\":\"r\"}","eventSource":"aws:sqs"}]}`,
		"EventBridge":    `{"version":"0","id":"1","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`,
		"version 2":      `{"version":"2.0","detail":{}}`,
		"without method": `{"path":"/v1/runs"}`,
		"without path":   `{"httpMethod":"GET"}`,
		"nothing":        `{}`,
		"null":           `null`,
	} {
		answer, err := served.Invoke(t.Context(), json.RawMessage(event))
		require.ErrorContains(t, err, "the event is not an HTTP request", source)
		require.Nil(t, answer, source)
	}
}

// answered is an answer of either kind.
type answered struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Body              string              `json:"body"`
	IsBase64Encoded   bool                `json:"isBase64Encoded"`
}

func invoke(t *testing.T, serve func(context.Context, json.RawMessage) (any, error), event string) (answer answered) {
	t.Helper()
	got, err := serve(t.Context(), json.RawMessage(event))
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &answer))
	return answer
}
