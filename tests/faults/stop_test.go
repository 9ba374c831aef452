//go:build faults

package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// stopped is longer than code may keep its turn, than any activity here may take, and than the naps.
const stopped = 7 * time.Second

// A stopped process is what a suspended machine is to its runs, too: afterwards, they go on.
func TestStoppedForLongerThanEveryTimeout(t *testing.T) {
	random, ctx := seeded(t), t.Context()
	stops := number(t, "FAULTS_STOPS", 3)
	s := newServer(t)
	c := s.Client()
	s.Start()
	s.Await(ctx, c)
	var runs, naps []string
	for i := range 30 {
		run := fmt.Sprint("slow-", i)
		require.NoError(t, begin(ctx, c, slow.Name(), run, 2*stops))
		runs = append(runs, run)
		run = fmt.Sprint("beating-", i)
		require.NoError(t, begin(ctx, c, beating.Name(), run, 2*stops))
		runs = append(runs, run)
	}
	for i := range 200 {
		run, lengths := fmt.Sprint("napping-", i), make([]int, 4*stops)
		for j := range lengths {
			lengths[j] = 1 + random.IntN(1000)
		}
		require.NoError(t, begin(ctx, c, napping.Name(), run, lengths))
		naps = append(naps, run)
	}
	sent := send(ctx, c, "sent", 4)
	for range stops {
		s.Live(2*time.Second + upTo(random, 2*time.Second))
		s.Freeze(stopped)
	}
	s.Live(time.Second)
	sent.end()
	ended(ctx, t, c, append(runs, naps...)...)
	promises := sent.kept(ctx, t)

	fired, late, again := 0, 0, 0
	for _, run := range naps {
		f, l := timers(t, run, records(ctx, t, c, run))
		fired, late = fired+f, late+l
	}
	for _, run := range runs {
		for _, rec := range records(ctx, t, c, run) {
			for _, event := range rec.Events {
				if done, ok := event.(*history.ActivityResolved); ok && done.Number > 1 {
					again++
				}
			}
		}
	}
	s.Stop()
	t.Logf("%d stops of %s; %d runs ended; %d timers fired, none early, none twice, %d of them due while stopped; %d activities done by a later attempt; "+
		"%d calls accepted, %d without an answer", stops, stopped, len(runs)+len(naps)+len(sent.accepted), fired, late, again, promises, total(sent.refused))
	require.Positive(t, late)
}

// timers requires of a log that each timer fired once, not before its time; late is how many fired seconds after it.
func timers(t *testing.T, run string, log []*history.Record) (fired, late int) {
	t.Helper()
	due := map[int64]time.Time{}
	for _, rec := range log {
		for _, event := range rec.Events {
			firing, ok := event.(*history.TimerFired)
			if !ok {
				continue
			}
			at, pending := due[firing.Seq]
			require.True(t, pending, "%s: timer %d fires twice", run, firing.Seq)
			require.False(t, rec.Time.Before(at), "%s: timer %d fires at %s, and is due at %s", run, firing.Seq, rec.Time, at)
			delete(due, firing.Seq)
			if fired++; rec.Time.Sub(at) > stopped/4 {
				late++
			}
		}
		for _, command := range rec.Commands {
			if timer, ok := command.(*history.StartTimer); ok {
				due[timer.Seq()] = rec.Time.Add(timer.Duration)
			}
		}
	}
	require.Empty(t, due, "%s: timers that never fired", run)
	return fired, late
}

func total(counted map[string]int) (sum int) {
	for _, n := range counted {
		sum += n
	}
	return sum
}
