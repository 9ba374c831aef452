package frontend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
)

// What is of no use to a flow is refused when it is sent, and says what it must be.
func TestAFlowRefusesWhatDoesNotFit(t *testing.T) {
	node, err := local.Start(t.Context(),
		local.Config{Store: memory.New(), Interpreters: frontend.Interpreters(),
			TokenKey: make([]byte, 32)})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	_, _, err = node.Publish(t.Context(), engine.PublishRequest{Name: "ask", Kind: frontend.Flow,
		Source: `{"start": "ask", "nodes": {"ask": {"kind": "approval", "params": {"approval_key": "$shared.ok"}}}}`})
	require.NoError(t, err)

	for input, want := range map[string]string{
		`5`:           "must be a JSON object",
		`"a"`:         "must be a JSON object",
		`[{}]`:        "must be a JSON object",
		`{"_rt": {}}`: `the key "_rt"`,
		`null`:        "", `{}`: "", `{"a": [1]}`: "",
	} {
		_, _, err := node.Start(t.Context(),
			engine.StartRequest{Workflow: "ask", Input: history.Payload(input)})
		fits(t, want, err, input)
	}
	_, _, err = node.Start(t.Context(), engine.StartRequest{Run: "r", Workflow: "ask"})
	require.NoError(t, err)
	for input, want := range map[string]string{
		`null`:                         `"key"`,
		`"ok"`:                         "an object such as",
		`{"ky": "ok"}`:                 `"key"`,
		`{"key": "_rt"}`:               `"_rt"`,
		`[]`:                           "an object such as",
		`{"key": "other", "value": 1}`: "",
	} {
		_, err := node.Signal(t.Context(), engine.MessageRequest{Run: "r"}, "set",
			history.Payload(input))
		fits(t, want, err, input)
	}
	_, err = node.Signal(t.Context(), engine.MessageRequest{Run: "r"}, "another",
		history.Payload(`5`))
	require.NoError(t, err, "it is kept unread")
	_, err = node.Signal(t.Context(), engine.MessageRequest{Run: "r"}, "set",
		history.Payload(`{"key": "ok", "value": true}`))
	require.NoError(t, err)
	summary, err := node.Wait(t.Context(), "r")
	require.NoError(t, err)
	require.JSONEq(t, `{"other": 1, "ok": true}`, string(summary.Result))
}

func fits(t *testing.T, want string, err error, input string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err, input)
		return
	}
	require.Equal(t, port.Invalid, port.CodeOf(err), input)
	require.ErrorContains(t, err, want, input)
}
