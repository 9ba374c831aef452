package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/system"
)

// exportOf is a log of one record: a run that took an input and ended at once.
func exportOf(name, input, result string) *history.Export {
	return &history.Export{Run: "r", Generation: 1, Workflow: name, Records: []*history.Record{{Number: 1, Time: time.Unix(1, 0),
		Events:   []history.Event{&history.Started{Generation: 1, Workflow: name, Input: history.Payload(input)}},
		Commands: []history.Command{&history.CompleteRun{Result: history.Payload(result)}}}}}
}

func TestReplay(t *testing.T) {
	definitions := []workflow.Definition{workflow.New("twice", func(_ workflow.Context, n int) (int, error) { return 2 * n, nil })}
	agreed := engine.Replayed{Run: "r", Generation: 1, Workflow: "twice", Records: 1, Closed: history.Completed, Agrees: true}

	done, err := engine.Replay(system.Clock{}, definitions, nil, exportOf("twice", "2", "4"))
	require.NoError(t, err)
	require.Equal(t, agreed, *done)

	done, err = engine.Replay(system.Clock{}, definitions, nil, exportOf("twice", "2", "5"))
	require.NoError(t, err)
	require.False(t, done.Agrees, "the result counts")
	require.Equal(t, port.ReasonNondeterminism, done.Reason)
	require.Contains(t, done.Message, "result: recorded 5, attempted 4")

	done, err = engine.Replay(system.Clock{}, definitions, nil, exportOf("thrice", "2", "6"))
	require.NoError(t, err)
	require.False(t, done.Agrees)
	require.Equal(t, port.ReasonUnregistered, done.Reason)

	_, err = engine.Replay(system.Clock{}, definitions, nil,
		&history.Export{Run: "r", Workflow: "twice"})
	require.Equal(t, port.Invalid, port.CodeOf(err))
}
