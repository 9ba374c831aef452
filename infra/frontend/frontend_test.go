package frontend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/frontend"
)

// Every problem of a flow comes with its place.
func TestProblemsOfAFlow(t *testing.T) {
	interpret := frontend.Interpreters()[frontend.KindOf(".json")]
	_, err := interpret("order", `{"start": "a", "nodes": {"b": {"kind": "timr"}}}`)
	problems := port.SourceProblems(nil)
	require.ErrorAs(t, err, &problems)
	require.Greater(t, len(problems), 1)
	require.Contains(t, err.Error(), "/start: ")
	require.Contains(t, err.Error(), "/nodes/b/kind: ")

	made, err := interpret("order",
		`{"start": "a", "nodes": {"a": {"kind": "timer", "params": {"delay_ms": 1}}}}`)
	require.NoError(t, err)
	require.NotNil(t, made)
	require.Empty(t, frontend.KindOf(".txt"))
}
