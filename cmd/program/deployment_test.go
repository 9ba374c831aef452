package program_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// deployment is the API as a deployment has it, below the stage of a gateway that lets pass what it likes.
func deployment(t *testing.T, pass func(w http.ResponseWriter, r *http.Request) bool) *server {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	require.NoError(t, err)
	node, err := local.Start(t.Context(), local.Config{Store: store, Definitions: []workflow.Definition{counter}})
	require.NoError(t, err)
	// In so short a time, a page of a rebuild has one run.
	handler, err := api.New(api.Config{Engine: node.Engine, Version: "1", Rebuild: true, LongestWait: time.Second})
	require.NoError(t, err)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pass(w, r) {
			http.StripPrefix("/Prod", handler).ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		handler.EndWaits()
		gateway.Close()
		require.NoError(t, node.Close())
	})
	return &server{Address: gateway.URL + "/Prod"}
}

func everybody(http.ResponseWriter, *http.Request) bool { return true }

func TestRebuild(t *testing.T) {
	lost := 0
	s := deployment(t, func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/rebuild") && r.URL.Query().Get("cursor") == "c1#" && lost > 0 {
			lost--
			w.WriteHeader(http.StatusGatewayTimeout)
			_, _ = io.WriteString(w, `{"message":"Endpoint request timed out"}`)
			return false
		}
		return true
	})
	for i := range 3 {
		require.Zero(t, s.ask(t.Context(), "", "start", "counter", "--run", fmt.Sprint("c", i)).code)
	}
	const rest = " open runs taken up, 0 messages sent again, 0 blocked runs tried again\n"
	require.Equal(t, outcome{out: "3" + rest, err: "so far: 1" + rest + "so far: 2" + rest + "so far: 3" + rest}, s.ask(t.Context(), "", "rebuild"))
	document := map[string]int{}
	require.NoError(t, json.Unmarshal([]byte(s.ask(t.Context(), "", "rebuild", "-o", "json").out), &document))
	require.Equal(t, map[string]int{"open": 3, "sent": 0, "unblocked": 0}, document)

	lost = 1
	require.Zero(t, s.ask(t.Context(), "", "rebuild").code, "once more helps")
	lost = 100
	got := s.ask(t.Context(), "", "rebuild")
	require.Equal(t, 3, got.code)
	require.Contains(t, got.err, "(Endpoint request timed out)")
	require.Contains(t, got.err, "not done: 2 open runs taken up, 0 messages sent again, 0 blocked runs tried again; `reprise rebuild --from 'c1#'` goes on\n")
	lost = 0
	got = s.ask(t.Context(), "", "rebuild", "--from", "c1#", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(got.out), &document), got.err)
	require.Equal(t, 1, document["open"])
}

// nobody has AWS's usual places hold no credentials.
func nobody(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE", "REPRISE_SIGN"} {
		t.Setenv(name, "")
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestSign(t *testing.T) {
	nobody(t)
	s := deployment(t, func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.Header.Get("Authorization"), "Credential=AKIDEXAMPLE/") {
			w.Header().Set("Signed-For", r.Header.Get("Authorization"))
			return strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/execute-api/aws4_request")
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"message":"Missing Authentication Token"}`)
		return false
	})
	got := s.ask(t.Context(), "", "list")
	require.Equal(t, 5, got.code)
	require.Contains(t, got.err, "answered 403 Forbidden (Missing Authentication Token): on AWS, requests must be signed")
	require.Contains(t, got.err, "--sign")
	require.Contains(t, got.err, "execute-api:Invoke")

	got = s.ask(t.Context(), "", "list", "--sign")
	require.Equal(t, outcome{code: 2, err: "reprise: there is no AWS region to sign requests for: set AWS_REGION, or say --sign=REGION\n"}, got)
	for _, args := range [][]string{{"list", "--sign=eu-west-1"}, {"get", "r", "--address", "abc123.execute-api.eu-west-1.amazonaws.com/Prod"}} {
		got = command(t.Context(), "", append([]string{"--address", s.Address}, args...)...)
		require.Equal(t, 2, got.code)
		require.Contains(t, got.err, "there are no AWS credentials to sign requests with: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}

	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	require.Zero(t, s.ask(t.Context(), "", "list", "--sign=eu-west-1").code)
	t.Setenv("AWS_REGION", "eu-west-1")
	require.Zero(t, s.ask(t.Context(), "", "list", "--sign").code)
	require.Equal(t, 5, s.ask(t.Context(), "", "list").code)
	t.Setenv("REPRISE_SIGN", "default")
	got = s.ask(t.Context(), "", "start", "counter", "--run", "a b", "--input", "1")
	require.Zero(t, got.code, got.err)
	require.Zero(t, s.ask(t.Context(), "", "get", "a b").code)
	require.Equal(t, 5, s.ask(t.Context(), "", "list", "--sign=no").code)
}

func TestDoctorOfADeployment(t *testing.T) {
	s := deployment(t, everybody)
	got := s.ask(t.Context(), "", "doctor")
	require.Equal(t, outcome{out: "nothing to do: no run is blocked or hangs, and no timer is overdue\nruns: 0 read that are not finished\n"}, got)
}

func TestWaitOutlastsAGateway(t *testing.T) {
	var out atomic.Bool
	s := deployment(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !out.Load() || r.Method != http.MethodGet {
			return true
		}
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, `{"message":"Internal server error"}`)
		return false
	})
	w := s.wait(t.Context(), "state", "start", "counter", "--run", "c", "--input", "1", "--wait")
	<-w.said.seen
	away := w.said.then("does not answer; trying again")
	out.Store(true)
	<-away
	out.Store(false)
	require.Zero(t, s.ask(t.Context(), "", "signal", "c", "approve", `"Ann"`).code)
	require.Zero(t, <-w.code)
	require.Equal(t, "\"1, says Ann\"\n", w.out.String())
}
