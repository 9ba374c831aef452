package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api"
)

func healthOf(sick chan error) func(context.Context) error {
	return func(context.Context) error {
		select {
		case err := <-sick:
			return err
		default:
			return nil
		}
	}
}

func TestProblems(t *testing.T) {
	sick := make(chan error, 1)
	sick <- errors.New("the disk is full")
	w := start(t, func(c *api.Config) { c.Healthy = healthOf(sick) })
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"done","workflow":"echo","input":1}`)
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"x","workflow":"nowhere"}`)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	w.ok(200, "POST", "/v1/runs/b/updates/add?wait=5s", `{"id":"used","input":1}`)
	long := strings.Repeat("x", 201)
	text := strings.Repeat("x", 64<<10+1)
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf(`"a%d":1`, i))
	}
	for _, c := range []struct{ call, body, want string }{
		{"POST /v1/runs", ``,
			`400 invalid: the request has no body: it takes an object with run, workflow, input, attributes, definition, reuse`},
		{"POST /v1/runs", `{"workflow"`,
			`400 invalid: the body is not JSON: unexpected end of JSON input, at byte 11`},
		{"POST /v1/runs", "{\"workflow\":\"\xff\"}", `400 invalid: the body is not UTF-8 text`},
		{"POST /v1/runs", `["echo"]`,
			`400 invalid: the body is a list: it must be an object with run, workflow, input, attributes, definition, reuse`},
		{"POST /v1/runs", `{"run":"y"}`,
			`400 invalid: field "workflow" is missing: the body takes run, workflow, input, attributes, definition, reuse`},
		{"POST /v1/runs", `{"workflow":""}`, `400 invalid: the name of the workflow is missing`},
		{"POST /v1/runs", `{"workflow":"echo","inptu":1}`,
			`400 invalid: unknown field "inptu": the body takes run, workflow, input, attributes, definition, reuse`},
		{"POST /v1/runs", `{"workflow":"echo","Input":1}`,
			`400 invalid: unknown field "Input": the body takes run, workflow, input, attributes, definition, reuse`},
		{"POST /v1/runs", `{"workflow":"echo","input":1,"input":2}`,
			`400 invalid: field "input" is given twice`},
		{"POST /v1/runs", `{"workflow":7}`,
			`400 invalid: field "workflow" must be a text, not a number`},
		{"POST /v1/runs", `{"workflow":"echo","reuse":"yes"}`,
			`400 invalid: field "reuse" must be true or false, not a text`},
		{"POST /v1/runs", `{"workflow":"echo","attributes":[]}`,
			`400 invalid: field "attributes" must be an object, not a list`},
		{"POST /v1/runs", `{"workflow":"echo","run":"a/b"}`,
			`400 invalid: the run id "a/b" has a character that is not allowed: no control characters, no # and no /`},
		{"POST /v1/runs", `{"workflow":"echo","run":""}`,
			`400 invalid: field "run" is empty: give a value, or leave the field out to have one made`},
		{"POST /v1/runs/b/signals/approve", `{"id":""}`,
			`400 invalid: field "id" is empty: give a value, or leave the field out to have one made`},
		{"POST /v1/runs/b/terminate", `{"id":"\ud800"}`,
			`400 invalid: the message id is not valid Unicode`},
		{"POST /v1/runs/b/signals/%ff", ``,
			`400 invalid: the name of the signal is not valid Unicode`},
		{"POST /v1/runs/b/updates/add", `{"id":"used","input":3}`,
			`409 conflict: run "b" was sent another update add with the id "used": give this one an id of its own, or repeat that one as it was`},
		{"POST /v1/runs", `{"workflow":"echo","run":".."}`,
			`400 invalid: the run id ".." is not allowed: in an address it would mean another place`},
		{"POST /v1/runs", `{"workflow":"echo","run":"` + long + `"}`,
			`413 too-large: the run id has 201 bytes, the limit is 200`},
		{"POST /v1/runs", `{"workflow":"` + long + `"}`,
			`413 too-large: the name of the workflow has 201 bytes, the limit is 100`},
		{"POST /v1/runs", `{"workflow":"echo","attributes":{` + strings.Join(many, ",") + `}}`,
			`413 too-large: there are 101 attributes, the limit is 100`},
		{"POST /v1/runs", `{"workflow":"echo","attributes":{"":1}}`,
			`400 invalid: the name of the attribute is missing`},
		{"POST /v1/runs", `{"workflow":"echo","attributes":{"` + long + `":1}}`,
			`413 too-large: the name of the attribute has 201 bytes, the limit is 100`},
		{"POST /v1/runs", `{"workflow":"echo","attributes":{"a":"` + text[:5000] + `"}}`,
			`413 too-large: attribute "a" has 5002 bytes, the limit is 4096`},
		{"POST /v1/runs/b/cancel", `{"reason":"` + text + `"}`,
			`413 too-large: the reason has 65537 bytes, the limit is 65536`},
		{"POST /v1/runs/b/terminate", `{"reason":"` + text + `"}`,
			`413 too-large: the reason has 65537 bytes, the limit is 65536`},
		{"POST /v1/runs/b/reset", `{"record":1,"reason":"` + text + `"}`,
			`413 too-large: the reason has 65537 bytes, the limit is 65536`},
		{"POST /v1/runs/b/signals/" + long, `{}`,
			`413 too-large: the name of the signal has 201 bytes, the limit is 100`},
		{"POST /v1/runs/b/signals/approve", `{"id":"` + long + `"}`,
			`413 too-large: the message id has 201 bytes, the limit is 200`},
		{"POST /v1/activities/abc/fail", `{"message":"` + text + `"}`,
			`413 too-large: the message has 65537 bytes, the limit is 65536`},
		{"POST /v1/activities/abc/fail", `{"message":"m","type":"` + long + `"}`,
			`413 too-large: the type of the failure has 201 bytes, the limit is 100`},
		{"POST /v1/runs", `{"workflow":"echo","run":"done","input":2}`,
			`409 conflict: a run with the id "done" exists, of workflow echo with another input: choose another id, or leave it out`},
		{"POST /v1/runs?wait=30", `{"workflow":"echo"}`,
			`400 invalid: parameter wait must be a duration such as 500ms or 30s, not "30"`},
		{"POST /v1/runs?wiat=30s", `{"workflow":"echo"}`,
			`400 invalid: unknown parameter "wiat": POST /v1/runs takes wait`},
		{"GET /v1/runs?status=done", ``,
			`400 invalid: parameter status must be one of [running completed failed cancelled terminated], not "done"`},
		{"GET /v1/runs?limit=-1", ``,
			`400 invalid: parameter limit must be a whole number from 0, not "-1"`},
		{"GET /v1/runs?limit=1001", ``,
			`413 too-large: a page of 1001 runs: the limit is from 1 to 1000`},
		{"GET /v1/runs?limit=1&limit=2", ``,
			`400 invalid: parameter limit is given more than once`},
		{"GET /v1/runs?blocked=yes", ``,
			`400 invalid: parameter blocked must be true or false, not "yes"`},
		{"GET /v1/runs?cursor=x", ``,
			`400 invalid: "x" is no cursor of a listing: take it from the page before`},
		{"GET /v1/runs?attribute=who", ``,
			`400 invalid: parameter attribute must be name=value, not "who"`},
		{"GET /v1/runs?attribute=who=ada", ``,
			`400 invalid: parameter attribute: the value of who must be JSON, not "ada"; a text has quotes: who="ada"`},
		{"GET /v1/runs?attribute=a=1&attribute=a=2", ``,
			`400 invalid: parameter attribute names a twice: all must match, and it has one value`},
		{"GET /v1/runs?a=%zz", ``,
			`400 invalid: the query of the address cannot be read: invalid URL escape "%zz"`},
		{"GET /v1/runs/none", ``, `404 not-found: there is no run with the id "none"`},
		{"GET /v1/runs/none?wait=5s", ``, `404 not-found: there is no run with the id "none"`},
		{"GET /v1/runs/none/history", ``, `404 not-found: there is no run with the id "none"`},
		{"GET /v1/runs/none/activities", ``, `404 not-found: there is no run with the id "none"`},
		{"GET /v1/runs/done/history?generation=2", ``, `404 not-found: run "done" has generations 1 to 1, not 2`},
		{"GET /v1/runs/done/export?generation=2", ``, `404 not-found: run "done" has generations 1 to 1, not 2`},
		{"GET /v1/runs/none/export", ``, `404 not-found: there is no run with the id "none"`},
		{"GET /v1/runs/none/export?after=1.1.1.0", ``,
			`404 not-found: there is no run with the id "none"`},
		{"GET /v1/runs/done/export?after=2.1.1.0", ``,
			`404 not-found: run "done" has generations 1 to 1, not 2`},
		{"GET /v1/runs/done/export?after=1.1.1.0&generation=2", ``,
			`400 invalid: parameter generation is 2, and after is a place in generation 1`},
		{"GET /v1/runs/done/export?after=1.0.0.9999", ``,
			`400 invalid: "1.0.0.9999" is not a place in this export: what comes there has `},
		{"GET /v1/runs/done/export?after=x", ``,
			`400 invalid: "x" is no place in an export: take it from the header Reprise-Next of the piece before`},
		{"GET /v1/runs/done/export?after=1.1.0.0", ``,
			`400 invalid: "1.1.0.0" is no place in an export`},
		{"GET /v1/runs/done/export?after=1.2.1.0", ``,
			`400 invalid: "1.2.1.0" is no place in an export`},
		{"GET /v1/runs/done/export?after=1.1.1.-1", ``,
			`400 invalid: "1.1.1.-1" is no place in an export`},
		{"GET /v1/runs/done/export?after=1.1.1.01", ``,
			`400 invalid: "1.1.1.01" is no place in an export`},
		{"POST /v1/rebuild", ``,
			`409 conflict: this server has its queues in its own memory and rebuilds them at each start: while it is up, there is nothing to bring back`},
		{"POST /v1/runs/none/signals/approve", `{}`,
			`404 not-found: there is no run with the id "none"`},
		{"POST /v1/runs/none/updates/add", ``, `404 not-found: there is no run with the id "none"`},
		{"POST /v1/runs/none/unblock", ``, `404 not-found: there is no run with the id "none"`},
		{"POST /v1/runs/none/reset", `{"record":1}`, `404 not-found: there is no run with the id "none"`},
		{"POST /v1/runs/done/signals/approve", `{}`, `409 closed: run "done" has ended (completed): it takes no more messages`},
		{"POST /v1/runs/done/cancel", ``, `409 closed: run "done" has ended (completed): it takes no more messages`},
		{"POST /v1/runs/done/updates/add", `{"id":"u"}`, `409 closed: run "done" ended before it answered update "u"`},
		{"POST /v1/runs/b/signals/approve", `{"after":1.5}`, `400 invalid: field "after" must be a whole number of at most 64 bits, not 1.5`},
		{"POST /v1/runs/b/signals/approve", `{"after":"1"}`, `400 invalid: field "after" must be a whole number, not a text`},
		{"POST /v1/runs/b/reset", `{"record":99}`, `400 invalid: record 99 cannot be gone on from: generation 1 has `},
		{"POST /v1/runs/b/reset", `{"record":0}`, `400 invalid: record 0: records are numbered from 1`},
		{"POST /v1/runs/b/queries/nope", ``, `404 not-found: no query "nope": this run answers broken, total`},
		{"POST /v1/runs/b/queries/broken", ``, `422 rejected: query "broken" failed: no answer`},
		{"POST /v1/runs/x/queries/total", ``, `423 blocked: run "x" cannot be asked`},
		{"POST /v1/activities/abc/complete", `{}`, `400 invalid: this is not a completion token: it is what activity.Token gave, unchanged`},
		{"POST /v1/activities/" + strings.Repeat("a", 100) + "/heartbeat", `{}`, `400 invalid: this completion token was not made here, or it was changed`},
		{"POST /v1/activities/abc/fail", `{"message":""}`, `400 invalid: field "message" is empty: say what happened`},
		{"GET /v1/health", ``, `503 unavailable: the server is up, but cannot do its work: the disk is full`},
		{"GET /", ``, `404 not-found: there is nothing at GET /: /v1/openapi.json lists what there is`},
		{"DELETE /v1/runs/b", ``, `405 invalid: DELETE is not for /v1/runs/b: use GET`},
		{"PUT /v1/runs", ``, `405 invalid: PUT is not for /v1/runs: use GET or POST`},
	} {
		t.Run(c.want, func(t *testing.T) {
			method, path, _ := strings.Cut(c.call, " ")
			v := *w
			v.T = t
			p := v.problem(method, path, c.body)
			require.Contains(t, fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail), c.want)
		})
	}
}

func TestRetryAfter(t *testing.T) {
	sick := make(chan error, 1)
	sick <- errors.New("the disk is full")
	w := start(t, func(c *api.Config) { c.Healthy = healthOf(sick) })
	response, _ := w.call("GET", "/v1/health", "")
	require.Equal(t, "1", response.Header.Get("Retry-After"))
}

func TestContentType(t *testing.T) {
	w := start(t)
	p := w.problem("POST", "/v1/runs", `{"workflow":"echo"}`, "Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusUnsupportedMediaType, p.Status)
	require.Equal(t, `a body of type "application/x-www-form-urlencoded" is not read: send JSON with the header Content-Type: application/json`, p.Detail)
	response, _ := w.call("POST", "/v1/runs", `{"workflow":"echo"}`, "Content-Type", "application/json; charset=utf-8")
	require.Equal(t, http.StatusCreated, response.StatusCode)
}

func TestTooLarge(t *testing.T) {
	w := start(t)
	const limit = 50 << 20
	value := strings.Repeat("x", limit-1)
	p := w.problem("POST", "/v1/runs", `{"workflow":"echo","input":"`+value+`"}`)
	require.Equal(t, `413 too-large: the input has 52428801 bytes, the limit is 52428800: store it elsewhere and pass where it is`, fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail))
	body := `{"workflow":"echo","input":"` + value + value[:1<<20] + `"}`
	want := "413 too-large: the request's body has more than 53477376 bytes; a value may have 52428800: store it elsewhere and pass where it is"
	request := func(length int64) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/runs", strings.NewReader(body))
		require.NoError(t, err)
		r.ContentLength = length
		return w.record(r)
	}
	require.Contains(t, request(int64(len(body))), want)
	require.Contains(t, request(-1), want)
}
