package sqs_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
	"github.com/reprise-run/reprise/infra/aws/sqs"
)

// TestNoValueIsInAMessage: with short values, which travel in messages, and with long ones, which are kept elsewhere.
func TestNoValueIsInAMessage(t *testing.T) {
	ring, err := seal.ParseKeyring(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", seal.KeyBytes))))
	require.NoError(t, err)
	for _, text := range []string{"the-marker", strings.Repeat("the-marker", 30_000)} {
		for _, seals := range []seal.Codec{nil, seal.New(ring)} {
			s, places := newService(), offloadtest.New()
			q := sqs.New(sqs.Config{Client: s, Resumes: "resumes", Tasks: "tasks", Codec: offload.Codec{Places: places, Seal: seals}})
			value := history.Payload(`"` + text + `"`)
			start := &history.Started{Generation: 1, Workflow: "order", Input: value}
			resume := port.Resume{Run: "r", Carries: &port.Item{Key: start.Key(1), Event: start},
				Creates: &port.Summary{Run: "r", Workflow: "order", Generation: 1, Input: value}}
			task := newTask("r", value)
			task.Failed = []history.Attempt{{Number: 1, Failure: &history.Failure{FailureKind: history.Application, Message: text, Details: value}}}
			require.NoError(t, q.SendResumes(t.Context(), resume))
			require.NoError(t, q.SendTasks(t.Context(), task))
			body := s.queues["resumes"][0].body + s.queues["tasks"][0].body
			found := strings.Count(body, "the-marker") + places.Count("the-marker")
			if seals == nil {
				require.Positive(t, found, "the test must be able to find it")
				continue
			}
			require.Zero(t, found)
			gotResume, err := q.DecodeResume(t.Context(), s.queues["resumes"][0].body)
			require.NoError(t, err)
			require.Equal(t, resume, gotResume)
			gotTask, err := q.DecodeTask(t.Context(), s.queues["tasks"][0].body)
			require.NoError(t, err)
			require.Equal(t, task, gotTask)
		}
	}
}
