package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/system"
)

// approvalOf waits for a decision under a key, and then ends.
func approvalOf(key string) string {
	return fmt.Sprintf(`{"start":"ask","nodes":{"ask":{"kind":"approval","params":{"approval_key":"$shared.%s"}}}}`, key)
}

func (w *world) publish(name, source string) *client.Published {
	w.Helper()
	published, err := w.client.Publish(w.Context(), wire.PublishBody{Name: name, Kind: "flow",
		Source: source})
	require.NoError(w, err)
	return published
}

// A flow is published to a running server and runs at once. A run stays on its version, and a reset
// may take another one.
func TestPublishedVersionsRunSideBySide(t *testing.T) {
	w := start(t)
	first := w.publish("review", approvalOf("boss"))
	require.True(t, first.Created)
	require.Equal(t, []any{1, "published", "flow"}, []any{first.Version, first.Status, first.Kind})
	require.False(t, w.publish("review", approvalOf("boss")).Created, "it is safe to repeat")
	w.ok(201, "POST", "/v1/runs", `{"run":"old","workflow":"review","input":{}}`)
	require.Equal(t, 2, w.publish("review", approvalOf("chief")).Version)
	response, _ := w.call("POST", "/v1/runs", `{"run":"new","workflow":"review","input":{}}`)
	require.Empty(t, response.Header.Get(wire.HintHeader), "the workflow is known")
	w.ok(201, "POST", "/v1/runs", `{"run":"named","workflow":"review","input":{},"definition":1}`)
	versions := map[string]any{}
	for _, run := range w.ok(200, "GET", "/v1/runs?workflow=review", "")["runs"].([]any) {
		versions[run.(map[string]any)["run"].(string)] = run.(map[string]any)["definition"]
	}
	require.Equal(t, map[string]any{"old": 1.0, "new": 2.0, "named": 1.0}, versions)

	for run, key := range map[string]string{"old": "boss", "new": "chief"} {
		w.ok(202, "POST", "/v1/runs/"+run+"/signals/set",
			`{"input":{"key":"`+key+`","value":true}}`)
		require.Equal(t, "completed", w.ok(200, "GET", "/v1/runs/"+run+"?wait=5s", "")["status"])
	}
	w.awaitRecord("named")
	w.ok(202, "POST", "/v1/runs/named/reset", `{"record":1,"definition":2}`)
	require.Eventually(t, func() bool {
		return w.ok(200, "GET", "/v1/runs/named", "")["definition"] == 2.0
	}, 5*time.Second, time.Millisecond)
	require.Contains(t, w.problem("POST", "/v1/runs/named/reset",
		`{"record":1,"generation":1,"definition":7}`).Detail, `no version 7 of definition "review"`)
	require.Equal(t, port.NotFound,
		w.problem("POST", "/v1/runs", `{"workflow":"review","input":{},"definition":7}`).Code)
}

// An export has the source of its generation's version, in pieces if it is long.
func TestExportsCarryTheSource(t *testing.T) {
	ring, err := seal.ParseKeyring(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k",
		seal.KeyBytes))))
	require.NoError(t, err)
	w := start(t, func(c *api.Config) { c.Seal = seal.New(ring) })
	long := approvalOf("boss") + strings.Repeat(" ", 1_000_000) + strings.Repeat("\n", 1_000_000)
	w.publish("review", long)
	w.publish("review", approvalOf("chief"))
	w.ok(201, "POST", "/v1/runs", `{"run":"r","workflow":"review","input":{},"definition":1}`)
	w.awaitRecord("r")
	w.ok(202, "POST", "/v1/runs/r/reset", `{"record":1,"definition":2}`)
	require.Eventually(t, func() bool {
		return w.ok(200, "GET", "/v1/runs/r", "")["definition"] == 2.0
	}, 5*time.Second, time.Millisecond)
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"own","workflow":"echo","input":1}`)

	of := map[int]*history.Export{1: w.exportOf("r", 1, 4), 2: w.exportOf("r", 2, 1)}
	require.True(t, *of[1].Definition == history.ExportedDefinition{Version: 1, Kind: "flow",
		Source: long}, "the source is another one")
	require.Equal(t, &history.ExportedDefinition{Version: 2, Kind: "flow",
		Source: approvalOf("chief")}, of[2].Definition)
	require.Nil(t, w.exportOf("own", 1, 1).Definition)
	for generation, export := range of {
		done, err := engine.Replay(system.Clock{}, nil, frontend.Interpreters(), export)
		require.NoError(t, err)
		require.True(t, done.Agrees, "generation %d: %s", generation, done.Message)
	}

	var sealed bytes.Buffer
	require.NoError(t, w.client.ExportSealed(t.Context(), "r", 2, &sealed))
	require.NotContains(t, sealed.String(), "chief", "a sealed export says nothing of the source")
	opened, err := seal.DecodeExport(t.Context(), sealed.Bytes(),
		func(map[string]string) (seal.Codec, error) {
			return seal.New(ring), nil
		})
	require.NoError(t, err)
	require.Equal(t, of[2].Definition, opened.Definition)

	require.NoError(t, w.client.Retire(t.Context(), "review", 1))
	require.NoError(t, w.client.DeleteDefinition(t.Context(), "review", 1))
	gone := w.exportOf("r", 1, 1)
	require.Equal(t, &history.ExportedDefinition{Version: 1}, gone.Definition)
	_, err = engine.Replay(system.Clock{}, nil, frontend.Interpreters(), gone)
	require.ErrorContains(t, err, "it was deleted before the export")
}

// awaitRecord waits until a run has its first record.
func (w *world) awaitRecord(run string) {
	w.Helper()
	require.Eventually(w, func() bool {
		return len(w.ok(200, "GET", "/v1/runs/"+run+"/history", "")["records"].([]any)) > 0
	}, 5*time.Second, time.Millisecond)
}

// A run whose workflow has no code yet resumes when its definition is published.
func TestPublishingResumesRunsThatWaitForIt(t *testing.T) {
	w := start(t)
	response, text := w.call("POST", "/v1/runs?wait=5s",
		`{"run":"early","workflow":"later","input":{}}`)
	require.Equal(t, http.StatusCreated, response.StatusCode)
	require.Contains(t, text, "unknown-workflow")
	w.publish("later", `{"start":"end","nodes":{"end":{"kind":"timer","params":{"delay_ms":1}}}}`)
	require.Eventually(t, func() bool {
		return w.ok(200, "GET", "/v1/runs/early?wait=5s", "")["status"] == "completed"
	}, 5*time.Second, time.Millisecond)
}

// All mistakes of a source come back at once, with their places, and nothing is stored.
func TestSourcesWithMistakesAreRefused(t *testing.T) {
	w := start(t)
	const wrong = `{"start": "a", "nodes": {"b": {"kind": "timr"}}}`
	_, err := w.client.Publish(t.Context(), wire.PublishBody{Name: "review", Kind: "flow",
		Source: wrong})
	problem := (*client.Problem)(nil)
	require.ErrorAs(t, err, &problem)
	require.Equal(t, port.Invalid, problem.Code)
	pointers := map[string]string{}
	for _, p := range problem.Problems {
		pointers[p.Pointer] = p.Message
	}
	require.Contains(t, pointers, "/start")
	require.Contains(t, pointers["/nodes/b/kind"], `did you mean "timer"`)

	validation, err := w.client.Validate(t.Context(),
		wire.ValidateBody{Name: "review", Kind: "flow", Source: wrong})
	require.NoError(t, err)
	require.False(t, validation.Valid)
	require.Equal(t, problem.Problems, validation.Problems)
	validation, err = w.client.Validate(t.Context(), wire.ValidateBody{Name: "review", Kind: "flow",
		Source: approvalOf("boss")})
	require.NoError(t, err)
	require.Equal(t, &wire.Validation{Valid: true, Problems: []wire.SourceProblem{}}, validation)

	for body, code := range map[string]port.Code{
		`{"name":"x","kind":"scroll","source":"{}"}`:          port.Invalid,
		`{"name":"","kind":"flow","source":"{}"}`:             port.Invalid,
		`{"name":"x","kind":"flow"}`:                          port.Invalid,
		`{"name":"echo","kind":"flow","source":"{}"}`:         port.Conflict, // the program's own
		`{"name":"x","kind":"flow","source":"{}","versio":1}`: port.Invalid,
	} {
		require.Equal(t, code, w.problem("POST", "/v1/definitions", body).Code, body)
	}
	long, err := json.Marshal(map[string]string{"name": "x", "kind": "flow",
		"source": strings.Repeat(" ", port.LongestSource+1)})
	require.NoError(t, err)
	require.Equal(t, port.TooLarge, w.problem("POST", "/v1/definitions", string(long)).Code)
	require.Empty(t, w.ok(200, "GET", "/v1/definitions", "")["definitions"])
}

func TestDefinitionsAreListedAndRead(t *testing.T) {
	w := start(t, func(c *api.Config) { c.LongestAnswer = 3 << 20 }) // as behind API Gateway
	w.publish("b", approvalOf("one"))
	w.publish("a", approvalOf("one"))
	w.publish("a", approvalOf("two"))
	long := approvalOf("three") + strings.Repeat(" \n", port.LongestSource/2-200)
	draft, err := w.client.Publish(t.Context(), wire.PublishBody{Name: "a", Kind: "flow",
		Source: long, Draft: true, Version: 9})
	require.NoError(t, err)
	require.Equal(t, "draft", draft.Status)

	page, err := w.client.Definitions(t.Context(), "")
	require.NoError(t, err)
	var listed []string
	for _, d := range page.Definitions {
		listed = append(listed, fmt.Sprintf("%s %d %s", d.Name, d.Version, d.Status))
		require.Empty(t, d.Source)
	}
	require.Equal(t, []string{"a 9 draft", "b 1 published"}, listed)
	rest, err := w.client.Definitions(t.Context(), page.Next)
	require.NoError(t, err)
	require.Empty(t, rest.Definitions)

	versions, err := w.client.Versions(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, versions, 3)
	require.Equal(t, 9, versions[0].Version)
	latest, err := w.client.Definition(t.Context(), "a", 0)
	require.NoError(t, err)
	require.Equal(t, []any{2, approvalOf("two")}, []any{latest.Version, latest.Source},
		"a draft is not the latest")
	whole, err := w.client.Definition(t.Context(), "a", 9)
	require.NoError(t, err)
	require.True(t, whole.Source == long, "a long source comes in pieces")
	require.Equal(t, port.HashDefinition("flow", long), whole.Hash)

	require.Equal(t, port.NotFound, w.problem("GET", "/v1/definitions/none", "").Code)
	require.Equal(t, port.NotFound, w.problem("GET", "/v1/definitions/a/versions/3", "").Code)
	for _, version := range []string{"0", "-1", "x", "newest"} {
		require.Equal(t, port.Invalid,
			w.problem("GET", "/v1/definitions/a/versions/"+version, "").Code)
	}
}

func TestRetireAndDelete(t *testing.T) {
	w := start(t)
	w.publish("review", approvalOf("boss"))
	w.publish("review", approvalOf("chief"))
	w.ok(201, "POST", "/v1/runs", `{"run":"r","workflow":"review","input":{},"definition":1}`)
	require.Contains(t, w.problem("DELETE", "/v1/definitions/review/versions/2", "").Detail,
		"retire it first")
	require.Equal(t, port.Invalid,
		w.problem("POST", "/v1/definitions/review/versions/latest/retire", "").Code)
	for _, version := range []int{1, 2} {
		require.NoError(t, w.client.Retire(t.Context(), "review", version))
	}
	require.Equal(t, port.Conflict,
		w.problem("POST", "/v1/runs", `{"workflow":"review","input":{},"definition":2}`).Code)
	require.Contains(t, w.problem("DELETE", "/v1/definitions/review/versions/1", "").Detail,
		`run "r" has it`)
	require.NoError(t, w.client.DeleteDefinition(t.Context(), "review", 2))
	require.Equal(t, port.NotFound, client.CodeOf(w.client.Retire(t.Context(), "review", 2)))
	w.ok(202, "POST", "/v1/runs/r/signals/set", `{"input":{"key":"boss","value":true}}`)
	require.Equal(t, "completed", w.ok(200, "GET", "/v1/runs/r?wait=5s", "")["status"],
		"runs continue on a retired version")
}

// Publishing needs the role all, and the token's name is the publisher's.
func TestWhoMayPublish(t *testing.T) {
	var tokens []api.Token
	secrets := map[api.Role]string{}
	for _, role := range api.Roles {
		secrets[role] = api.NewSecret()
		token, err := api.NewToken("ada-"+string(role), secrets[role])
		require.NoError(t, err)
		token.Role = role
		tokens = append(tokens, token)
	}
	w := start(t, func(c *api.Config) { c.Tokens = tokens })
	publish, err := json.Marshal(wire.PublishBody{Name: "review", Kind: "flow",
		Source: approvalOf("boss")})
	require.NoError(t, err)
	for call, allowed := range map[string][]int{ // by role: worker, read, operate, all
		"POST /v1/definitions":                        {403, 403, 403, 201},
		"POST /v1/definitions/validate":               {403, 403, 200, 200},
		"GET /v1/definitions":                         {403, 200, 200, 200},
		"GET /v1/definitions/none":                    {403, 404, 404, 404},
		"POST /v1/definitions/none/versions/1/retire": {403, 403, 403, 404},
		"DELETE /v1/definitions/none/versions/1":      {403, 403, 403, 404},
		"GET /v1/definitions/none/versions/1/source":  {403, 404, 404, 404},
		"GET /v1/definitions/none/versions/latest":    {403, 404, 404, 404},
	} {
		method, path, _ := strings.Cut(call, " ")
		for i, role := range api.Roles {
			body := ""
			if strings.Count(path, "/") < 4 && method == http.MethodPost {
				body = string(publish)
			}
			response, text := w.call(method, path, body, "Authorization", "Bearer "+secrets[role])
			require.Equal(t, allowed[i], response.StatusCode, "%s %s: %s", role, call, text)
		}
	}
	definition, err := w.node.Definition(t.Context(), "review", 0)
	require.NoError(t, err)
	require.Equal(t, "ada-all", definition.Publisher)
	_, _, err = w.node.Publish(t.Context(), engine.PublishRequest{Name: "other", Kind: "flow",
		Source: approvalOf("boss")})
	require.NoError(t, err)
}
