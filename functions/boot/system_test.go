package boot

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// TestAllOfTheEnvironmentReachesTheSystem: no part of a function is left out that template.yaml
// names.
func TestAllOfTheEnvironmentReachesTheSystem(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	given := map[string]string{"REPRISE_TABLE": "t", "REPRISE_BUCKET": "b",
		"REPRISE_RESUMES": "https://sqs/resumes", "REPRISE_TASKS": "https://sqs/tasks",
		"REPRISE_DEAD": "https://sqs/dead", "REPRISE_STACK": "s", "REPRISE_VERSION": "7",
		"REPRISE_KMS_KEY": "arn:aws:kms:::key/k", "REPRISE_AUTHORIZER": "NONE",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512", "AWS_LAMBDA_FUNCTION_NAME": "f"}
	definitions := []workflow.Definition{hello, greet}
	s, err := open(t.Context(), func(name string) string { return given[name] },
		slog.New(slog.DiscardHandler), definitions)
	require.NoError(t, err)
	t.Cleanup(s.Engine.Close)
	// what some functions prepare
	later := []string{"Deployed", "CheckTable", "TokenKey", "Interpreters", "Performers"}
	parts := reflect.ValueOf(s.Parts)
	for i := range parts.NumField() {
		name := parts.Type().Field(i).Name
		require.Equal(t, slices.Contains(later, name), parts.Field(i).IsZero(),
			"is Parts.%s left out", name)
	}
}

var (
	entrust = activity.New("entrust", func(ctx context.Context, _ string) (string, error) {
		return "", errors.Join(activity.Heartbeat(ctx, activity.Token(ctx)), activity.ErrPending)
	})
	trust = workflow.New("hello", func(ctx workflow.Context, name string) (string, error) {
		return workflow.Execute(ctx, entrust, name)
	})
)

// rebuilt makes the system of a bench anew, with other parts.
func (b *bench) rebuilt(change func(*Parts)) *System {
	b.t.Helper()
	parts := b.Parts
	change(&parts)
	s, err := New(parts)
	require.NoError(b.t, err)
	b.t.Cleanup(s.Engine.Close)
	return s
}

// TestTokensOpenUnderTheirOwnKeyAlone: functions/task makes a token, functions/api takes it.
func TestTokensOpenUnderTheirOwnKeyAlone(t *testing.T) {
	b := newBench(t)
	under := func(key string) *System {
		return b.rebuilt(func(p *Parts) {
			p.TokenKey, p.Definitions = []byte(strings.Repeat(key, 32)),
				[]workflow.Definition{trust, entrust}
		})
	}
	b.System = under("k")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	response, err := b.HandleResumes(ctx, events.SQSEvent{Records: b.started(1, "r")})
	require.Empty(t, failed(t, response, err))
	response, err = b.HandleTasks(ctx, events.SQSEvent{Records: b.take(tasksURL, 1)})
	require.Empty(t, failed(t, response, err))
	states, err := b.store.TasksOf(ctx, "r")
	require.NoError(t, err)
	require.Len(t, states, 1)
	var token string
	require.NoError(t, json.Unmarshal(states[0].Details, &token))
	yes := []byte(`"yes"`)
	err = under("x").Engine.CompleteActivity(ctx, token, yes, nil)
	require.Equal(t, port.Invalid, port.CodeOf(err), "a token under another key: %v", err)
	require.NoError(t, under("k").Engine.CompleteActivity(ctx, token, yes, nil))
}

// TestASystemUsesItsParts: blocks name the deployment's version, and runs in memory take of the
// budget.
func TestASystemUsesItsParts(t *testing.T) {
	b := newBench(t)
	budget := memory.New(64 << 20)
	b.System = b.rebuilt(func(p *Parts) { p.Version, p.Memory = "7", budget })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	response, err := b.HandleResumes(ctx, events.SQSEvent{Records: b.started(1, "r")})
	require.Empty(t, failed(t, response, err))
	require.Positive(t, budget.Used(), "a run waits in memory")

	b.System = b.rebuilt(func(p *Parts) { p.Version, p.Definitions = "8", nil })
	response, err = b.HandleResumes(ctx, events.SQSEvent{Records: b.started(1, "unknown")})
	require.Empty(t, failed(t, response, err))
	summary, err := b.store.Summary(ctx, "unknown")
	require.NoError(t, err)
	require.Equal(t, "8", summary.Blocked.Version, "under which version it was blocked")
}
