package scheduler_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/workflow"
)

// benchmarked are what the benchmarks run.
func benchmarked(b *testing.B, name string) scheduler.Entry {
	b.Helper()
	found, err := registry.New(
		workflow.New("sequence", func(ctx Ctx, n int) (sum int, err error) {
			for i := range n {
				got, err := workflow.Execute(ctx, actA, i)
				if err != nil {
					return 0, err
				}
				sum += got
			}
			return sum, nil
		}),
		workflow.New("fan-out", func(ctx Ctx, n int) (int, error) {
			values, err := workflow.Map(ctx, make([]int, n), func(ctx Ctx, i int) (int, error) { return workflow.Execute(ctx, actA, i) })
			return len(values), err
		}),
		workflow.New("yields", func(ctx Ctx, n int) (nothing, error) {
			run := func(ctx Ctx, n int) (nothing, error) {
				for range n {
					workflow.Yield(ctx)
				}
				return nothing{}, nil
			}
			_, err := workflow.Map(ctx, []int{n, n}, run) // two: a lone unit goes on without a switch
			return nothing{}, err
		}),
		workflow.New("units", func(ctx Ctx, n int) (nothing, error) {
			for range n {
				if _, err := workflow.Go(ctx, func(Ctx) (nothing, error) { return nothing{}, nil }).Await(ctx); err != nil {
					return nothing{}, err
				}
			}
			return nothing{}, nil
		}),
	)
	require.NoError(b, err)
	entry, _ := found.FindWorkflow(name)
	return entry
}

// logOf runs a workflow whose activities answer one per activation, and gives its log in stored form.
func logOf(b *testing.B, name string, n int) (texts [][]byte) {
	b.Helper()
	run := scheduler.New(scheduler.Identity{Run: "bench", Generation: 1, Workflow: name},
		benchmarked(b, name))
	defer run.Close()
	events := []history.Event{&history.Started{Generation: 1, Workflow: name, Input: history.Payload(fmt.Sprint(n))}}
	for number := 1; ; number++ {
		completion, err := run.Activate(scheduler.Activation{Record: number, Time: epoch,
			Events: events})
		require.NoError(b, err)
		texts = append(texts, history.AppendRecord(nil, &history.Record{Number: number, Time: epoch, Author: "bench", Events: events, Commands: completion.Commands}))
		if completion.Closes != nil {
			return texts
		}
		events = []history.Event{&history.ActivityResolved{Seq: run.PendingCommands()[0].Seq(), Result: history.Payload("1")}}
	}
}

// BenchmarkReplay replays sequential activities, from records in memory and from their stored form.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{10, 100, 1_000, 10_000} {
		texts, entry := logOf(b, "sequence", n), benchmarked(b, "sequence")
		replay := func(b *testing.B, open func() scheduler.Feed) {
			b.Helper()
			b.ReportAllocs()
			run := func() {
				r := scheduler.New(scheduler.Identity{Run: "bench", Generation: 1,
					Workflow: "sequence"}, entry)
				if err := r.Replay(open()); err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/activity")
			b.ReportMetric(testing.AllocsPerRun(1, run)/float64(n), "allocs/activity")
		}
		b.Run(fmt.Sprintf("decoded/%d", n), func(b *testing.B) {
			var records []*history.Record
			for _, text := range texts {
				rec, err := history.DecodeRecord(text)
				require.NoError(b, err)
				records = append(records, rec)
			}
			replay(b, func() scheduler.Feed { return feed(records...) })
		})
		b.Run(fmt.Sprintf("decoding/%d", n), func(b *testing.B) {
			replay(b, func() scheduler.Feed {
				var decoder history.Decoder
				rest := texts
				return func() (*history.Record, error) {
					if len(rest) == 0 {
						return nil, nil
					}
					text := rest[0]
					rest = rest[1:]
					return decoder.Record(text)
				}
			})
		})
	}
}

// once has a workflow run for so many of what is measured, in one activation.
func once(b *testing.B, name string, n int) {
	b.Helper()
	run := scheduler.New(scheduler.Identity{Run: "bench", Generation: 1, Workflow: name},
		benchmarked(b, name))
	defer run.Close()
	b.ReportAllocs()
	b.ResetTimer()
	_, err := run.Activate(scheduler.Activation{Record: 1, Time: epoch, Events: []history.Event{
		&history.Started{Generation: 1, Workflow: name, Input: history.Payload(fmt.Sprint(n))}}})
	b.StopTimer()
	require.NoError(b, err)
}

// BenchmarkYield is one step of a unit: two switches and its place in a round.
func BenchmarkYield(b *testing.B) { once(b, "yields", b.N/2+1) }

// BenchmarkUnit is a unit made, run and ended.
func BenchmarkUnit(b *testing.B) { once(b, "units", b.N) }

// BenchmarkSwitch is a coroutine's switch alone, there and back: what a step costs at least.
func BenchmarkSwitch(b *testing.B) {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	defer stop()
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
}

// BenchmarkFanOut runs 100 activities side by side: they are scheduled in one activation, and answered in another.
func BenchmarkFanOut(b *testing.B) {
	const width = 100
	entry := benchmarked(b, "fan-out")
	b.ReportAllocs()
	for b.Loop() {
		run := scheduler.New(scheduler.Identity{Run: "bench", Generation: 1, Workflow: "fan-out"},
			entry)
		_, err := run.Activate(scheduler.Activation{Record: 1, Time: epoch, Events: []history.Event{
			&history.Started{Generation: 1, Workflow: "fan-out", Input: history.Payload(fmt.Sprint(width))}}})
		require.NoError(b, err)
		var events []history.Event
		for _, command := range run.PendingCommands() {
			events = append(events, &history.ActivityResolved{Seq: command.Seq(), Result: history.Payload("1")})
		}
		completion, err := run.Activate(scheduler.Activation{Record: 2, Time: epoch,
			Events: events})
		require.NoError(b, err)
		require.NotNil(b, completion.Closes)
		run.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/width, "ns/branch")
}
