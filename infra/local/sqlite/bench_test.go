package sqlite_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// BenchmarkRecords puts records of about 350 bytes, ten to a run, 50 in flight; starts and ends of runs included.
func BenchmarkRecords(b *testing.B) {
	const inFlight, perRun = 50, 10
	s := open(b, b.TempDir(), sqlite.Options{})
	flushes := s.Flushes()
	var left, runs atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for range inFlight {
		all.Go(func() {
			for {
				summary, start := newRun(fmt.Sprint("run-", runs.Add(1)))
				if err := s.Create(b.Context(), summary, start); err != nil {
					b.Error(err)
					return
				}
				for n := 1; n <= perRun; n++ {
					if left.Add(-1) < 0 {
						return
					}
					commit := &port.Commit{Run: summary.Run, Generation: 1, Record: newRecord(n)}
					if n == perRun {
						commit.Summary = ended(summary)
					}
					if err := s.Put(b.Context(), commit); err != nil {
						b.Error(err)
						return
					}
				}
				if err := s.Delete(b.Context(), summary.Run, []string{start.Key}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(s.Flushes()-flushes)/float64(b.N), "flushes/record")
}

// BenchmarkLone puts one record after the other.
func BenchmarkLone(b *testing.B) {
	s := open(b, b.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(b, s.Create(b.Context(), summary, start))
	b.ResetTimer()
	for n := range b.N {
		if err := s.Put(b.Context(),
			&port.Commit{Run: "r", Generation: 1, Record: newRecord(n + 1)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLook looks at a run that was active lately, and at one of which nothing is in memory.
func BenchmarkLook(b *testing.B) {
	for name, runs := range map[string]int{"hot": 1, "cold": 100} {
		b.Run(name, func(b *testing.B) {
			s := open(b, b.TempDir(), sqlite.Options{HotRuns: 10})
			for i := range runs {
				summary, start := newRun(fmt.Sprint("r", i))
				require.NoError(b, s.Create(b.Context(), summary, start))
				require.NoError(b, s.Put(b.Context(), &port.Commit{Run: summary.Run, Generation: 1,
					Record: newRecord(1)}))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if _, err := s.Look(b.Context(), fmt.Sprint("r", i%runs),
					port.Position{Generation: 1, Record: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList reads a page of 100 out of 10,000 runs: the first one, and one of which few runs match.
func BenchmarkList(b *testing.B) {
	s := open(b, b.TempDir(), sqlite.Options{})
	var all sync.WaitGroup
	for w := range 50 {
		all.Go(func() {
			for i := w; i < 10_000; i += 50 {
				summary, start := newRun(fmt.Sprint("r", i))
				summary.Started = began.Add(time.Duration(i))
				if i%1000 == 0 {
					summary.Attributes = history.Attributes{"rare": history.Payload("true")}
				}
				if err := s.Create(b.Context(), summary, start); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	for name, query := range map[string]port.ListQuery{"page": {},
		"scan": {Attributes: history.Attributes{"rare": history.Payload("true")}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := s.List(b.Context(), query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func newRun(id string) (*port.Summary, port.Item) {
	event := &history.Started{Generation: 1, Workflow: "order", Input: history.Payload(`{"id":7}`), Seed: 7}
	history.File(event, "filing-of-the-start")
	return &port.Summary{Run: id, Workflow: "order", Generation: 1, Status: history.Running,
			Started: began, Input: history.Payload(`{"id":7}`)},
		port.Item{Key: event.Key(1), Event: event, Stamp: 1, Durable: true}
}

func ended(summary *port.Summary) *port.Summary {
	after := *summary
	after.Status, after.Closed, after.Result = history.Completed, summary.Started.Add(time.Hour), history.Payload(`"done"`)
	return &after
}

func newRecord(n int) *history.Record { return recordOf(n, 64) }

func recordOf(n, size int) *history.Record {
	schedule := &history.ScheduleActivity{Activity: "charge", Input: history.Payload(`"` + strings.Repeat("x", size) + `"`), Inline: true}
	schedule.Number(int64(n))
	rec := &history.Record{Number: n, Time: began.Add(time.Duration(n) * time.Second), Author: "author-0123456789", Commands: []history.Command{schedule}}
	if n > 1 {
		rec.Events = []history.Event{&history.ActivityResolved{Seq: int64(n - 1), Result: history.Payload(`{"charged":true}`), Number: 1}}
	}
	return rec
}
