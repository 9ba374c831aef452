//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/tests/process"
)

// tally is what the test prints.
type tally struct {
	kills, torn, cut, lost, damagedLogs, cutDatabases, damagedPages, harmless, refused, told int
}

// A server is killed under load, and its files are torn and damaged in every way. What was accepted is there, as long as the
// disk kept its word; where it did not, what is there is all up to some moment, or an error says what to do.
func TestTornAndDamagedFiles(t *testing.T) {
	random, ctx := seeded(t), t.Context()
	tears := number(t, "FAULTS_TEARS", 4)
	s := newServer(t)
	c := s.Client()
	s.Start()
	s.Await(ctx, c)
	var did tally
	all := map[string]int{}
	for i := range tears {
		sent := send(ctx, c, fmt.Sprint("sent-", i), 8)
		s.Live(time.Second/4 + upTo(random, time.Second))
		s.Kill()
		did.kills++
		sent.end()
		maps.Copy(all, sent.accepted)
		left := read(t, s.Data)
		did.others(ctx, t, random, s, left, all)
		left.tear(random).write(t, s.Data, s.Data)
		did.torn++
		s.Start()
		s.Await(ctx, c)
	}
	kept := &senders{client: c, accepted: all}
	promises := kept.kept(ctx, t)
	logs := map[string]int{}
	for run := range all {
		if len(logs) < 200 {
			logs[run] = len(records(ctx, t, c, run))
		}
	}
	s.Stop()
	did.closed(ctx, t, random, s, logs)
	t.Logf("%d kills; %d tails torn, and %d accepted calls of %d runs all kept", did.kills, did.torn, promises, len(all))
	t.Logf("%d logs cut where the disk had flushed: what is there is all up to a moment, %d runs begun since are not", did.cut, did.lost)
	t.Logf("%d logs damaged, %d databases cut off, %d databases with damaged pages: %d starts refused, %d runs said to be damaged, %d harmless",
		did.damagedLogs, did.cutDatabases, did.damagedPages, did.refused, did.told, did.harmless)
}

// others damages copies of the files that a killed server has left.
func (d *tally) others(ctx context.Context, t *testing.T, random *rand.Rand, from *process.Server, left files, all map[string]int) {
	t.Helper()
	s := on(t, from, left.cut(random))
	c := s.Client()
	s.Start()
	s.Await(ctx, c)
	d.cut++
	d.lost += upToAMoment(ctx, t, c, all)
	s.Kill()

	if damaged, done := left.damage(random); done {
		d.damagedLogs++
		d.refuses(ctx, t, on(t, from, damaged), "reprise.db-wal is damaged at byte")
	}
	d.cutDatabases++
	s = on(t, from, left.cutDatabase(random))
	if up, said := s.Comes(ctx, s.Client()); !up {
		require.Contains(t, said, "reprise.db")
		require.Contains(t, said, "put a copy of")
		d.refused++
		return
	}
	require.Zero(t, upToAMoment(ctx, t, s.Client(), all), "it starts, though what the log does not have is gone")
	d.harmless++
}

// closed damages copies of the files of a server that was stopped in good order, and knew runs with so many records.
func (d *tally) closed(ctx context.Context, t *testing.T, random *rand.Rand, from *process.Server, logs map[string]int) {
	t.Helper()
	left := read(t, from.Data)
	require.Empty(t, left.log)
	for range d.kills {
		d.cutDatabases++
		d.refuses(ctx, t, on(t, from, left.cutDatabase(random)), "reprise.db")

		d.damagedPages++
		s := on(t, from, left.damagePages(random, 1+random.IntN(3)))
		c := s.Client()
		if up, said := s.Comes(ctx, c); !up {
			require.Contains(t, said, "reprise.db is damaged")
			d.refused++
			continue
		}
		told := d.told
		for run, length := range logs {
			_, err := c.Get(ctx, run)
			found := 0
			for _, unread := range c.Records(ctx, run, 1) {
				err = errors.Join(err, unread)
				found++
			}
			if err != nil {
				require.ErrorContains(t, err, "is damaged", "a run is lost without a word")
				d.told++
				continue
			}
			require.Equal(t, length, found, "records of %s are lost without a word", run)
		}
		if told == d.told {
			d.harmless++
		}
		s.Live(time.Second / 10)
		s.Kill()
	}
}

// on makes a server on files of its own.
func on(t *testing.T, from *process.Server, f files) *process.Server {
	t.Helper()
	s := newServer(t)
	f.write(t, from.Data, s.Data)
	return s
}

// refuses requires that the server does not start, and says of what file, and what to do, again at its second start.
func (d *tally) refuses(ctx context.Context, t *testing.T, s *process.Server, text string) {
	t.Helper()
	for range 2 {
		up, said := s.Comes(ctx, s.Client())
		require.False(t, up, "it starts, as if nothing were missing")
		require.Contains(t, said, text)
		require.Contains(t, said, "put a copy of")
		require.NotContains(t, said, "panic")
		d.refused++
	}
}

// upToAMoment requires that of each sender's runs the first ones are there, and all in one piece.
func upToAMoment(ctx context.Context, t *testing.T, c *client.Client, all map[string]int) (lost int) {
	t.Helper()
	there := map[string]bool{}
	for summary, err := range c.All(ctx, port.ListQuery{Limit: engine.LongestPage}) {
		require.NoError(t, err)
		require.Nil(t, summary.Blocked)
		there[summary.Run] = true
	}
	for run := range all {
		if there[run] {
			records(ctx, t, c, run)
			continue
		}
		lost++
		at := strings.LastIndexByte(run, '-') + 1 // its sender's runs are numbered
		number, err := strconv.Atoi(run[at:])
		require.NoError(t, err)
		next := run[:at] + strconv.Itoa(number+1)
		require.False(t, there[next], "%s is lost, and %s, which came after it, is not", run, next)
	}
	return lost
}
