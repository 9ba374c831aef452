// Package temporal replays a recorded history of 1,000 sequential activities (6,005 events) with the Temporal Go SDK.
package temporal

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const activities = 1000

// Mark and SeqMark have the names under which the history knows them.
func Mark(_ context.Context, i int) (int, error) { return i, nil }

func SeqMark(ctx workflow.Context, n int) (sum int, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for i := range n {
		var got int
		if err := workflow.ExecuteActivity(ctx, Mark, i).Get(ctx, &got); err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
}

func history(b *testing.B) *historypb.History {
	b.Helper()
	file, err := os.Open("sequence1000.json.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		b.Fatal(err)
	}
	recorded := &historypb.History{}
	if err := protojson.Unmarshal(text, recorded); err != nil {
		b.Fatal(err)
	}
	return recorded
}

func replay(b *testing.B, recorded func() *historypb.History) {
	b.Helper()
	logger := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflow(SeqMark)
	b.ReportAllocs()
	for b.Loop() {
		if err := replayer.ReplayWorkflowHistory(logger, recorded()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/activities, "ns/activity")
}

// BenchmarkDecoded replays a history in memory.
func BenchmarkDecoded(b *testing.B) {
	recorded := history(b)
	replay(b, func() *historypb.History { return recorded })
}

// BenchmarkDecoding decodes it each time, as it comes from a server.
func BenchmarkDecoding(b *testing.B) {
	encoded, err := proto.Marshal(history(b))
	if err != nil {
		b.Fatal(err)
	}
	replay(b, func() *historypb.History {
		recorded := &historypb.History{}
		if err := proto.Unmarshal(encoded, recorded); err != nil {
			b.Fatal(err)
		}
		return recorded
	})
}
