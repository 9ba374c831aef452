//go:build localstack

package localstack

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/frontend"
)

// waits is a flow that waits for a signal, and then takes an action of this name.
func waits(action string) string {
	return fmt.Sprintf(`{"start": "wait", "nodes": {
		"wait": {"kind": "wait_event", "params": {"signal_key": "$shared.ready"}, "post": {"output_key": %q}}}}`, action)
}

// name of a definition of a test. A LocalStack that goes on has those of earlier tests, too.
func name(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%s-%d", strings.ToLower(t.Name()), plays.Add(1))
}

// blockedFor says for what a run is blocked; "" if it is not.
func blockedFor(ctx context.Context, t *testing.T, run string) string {
	t.Helper()
	summary, err := trial.client.Get(ctx, run)
	require.NoError(t, err)
	if summary.Blocked == nil {
		return ""
	}
	return summary.Blocked.Reason
}

// TestVersions: a run keeps the version that it began with while others are published. A run that was
// started before its flow was published waits for it, and so does one of a version that comes.
func TestVersions(t *testing.T) {
	workflow := name(t)
	early, first, second := workflow+".early", workflow+".first", workflow+".second"
	startAs(t, early, workflow, struct{}{})
	eventually(t, "the run waits for its flow", func(ctx context.Context) bool {
		return blockedFor(ctx, t, early) == port.ReasonUnregistered
	})
	require.Equal(t, 1, publish(t, workflow, waits("one")).Version)
	startAs(t, first, workflow, struct{}{})
	for _, run := range []string{early, first} {
		eventually(t, "the run waits for its signal", func(ctx context.Context) bool {
			summary, err := trial.client.Get(ctx, run)
			require.NoError(t, err)
			require.Empty(t, summary.Result)
			return len(summary.State) > 0
		})
	}
	require.Equal(t, 2, publish(t, workflow, waits("two")).Version)
	require.False(t, publish(t, workflow, waits("two")).Created)
	startAs(t, second, workflow, struct{}{})
	for run, want := range map[string]struct {
		version int
		gives   string
	}{early: {1, `{"one":1,"ready":1}`}, first: {1, `{"one":1,"ready":1}`}, second: {2, `{"ready":1,"two":1}`}} {
		require.NoError(t, throughAPI(within(t, patience), run, flow.Set.Name(), []byte(`{"key":"ready","value":1}`)))
		summary := ends(t, run)
		require.Equal(t, want.version, summary.Definition, run)
		require.JSONEq(t, want.gives, string(summary.Result), run)
	}
}

// TestMistakes: a flow with mistakes is refused, each with its place. Nothing of it is stored.
func TestMistakes(t *testing.T) {
	workflow := name(t)
	_, err := trial.client.Publish(within(t, patience), wire.PublishBody{Name: workflow, Kind: frontend.Flow,
		Source: `{"start": "a", "nodes": {"b": {"kind": "timr"}}}`})
	problem := (*client.Problem)(nil)
	require.ErrorAs(t, err, &problem)
	var places []string
	for _, mistake := range problem.Problems {
		places = append(places, mistake.Pointer)
	}
	require.ElementsMatch(t, []string{"/start", "/nodes/b/kind"}, places, "%+v", problem)
	_, err = trial.client.Versions(within(t, patience), workflow)
	require.Equal(t, port.NotFound, client.CodeOf(err))
}

// TestLongSource: a source that neither an item of the table nor one answer of the API holds comes back
// as it was published, and runs.
func TestLongSource(t *testing.T) {
	workflow, long := name(t), strings.Repeat(`\"ä`, 350_000)
	source := `{"start": "n", "nodes": {"n": {"kind": "choice", "default_action": "end", "params": {"long": "` + long + `"}}}}`
	publish(t, workflow, source)
	got, err := trial.client.Definition(within(t, patience), workflow, 0)
	require.NoError(t, err)
	require.True(t, source == got.Source, "%d bytes", len(got.Source))
	startAs(t, workflow, workflow, struct{}{})
	gives(t, workflow, struct{}{})
}
