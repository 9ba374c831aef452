package machine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
)

// numbered gives a command its number.
func numbered[C history.Sequenced](command C, seq int64) C {
	command.Number(seq)
	return command
}

// madeUp makes logs that begin, stop and end calls at random.
type madeUp struct {
	random  *rand.Rand
	next    int64
	pending []int64
	kinds   map[int64]int
	grows   int // of ten records, how many begin a call
}

func (m *madeUp) record(number int) *history.Record {
	rec := &history.Record{Number: number, Time: time.Unix(int64(number), 0).UTC(),
		Author: "0123456789abcdef0123456789abcdef", Until: time.Unix(int64(number)+60, 0).UTC()}
	if len(m.pending) > 0 && m.random.IntN(10) >= m.grows {
		at := m.random.IntN(len(m.pending))
		seq := m.pending[at]
		ends := m.random.IntN(3) > 0
		switch m.kinds[seq] {
		case 0:
			if ends {
				rec.Events = append(rec.Events, &history.ActivityResolved{Seq: seq})
			} else {
				abandoned := m.random.IntN(2) == 0
				rec.Commands = append(rec.Commands,
					numbered(&history.CancelActivity{Abandoned: abandoned}, seq))
				ends = abandoned
			}
		case 1:
			rec.Commands = append(rec.Commands, numbered(&history.CancelTimer{}, seq))
			ends = true
		case 2:
			if ends {
				rec.Events = append(rec.Events, &history.ChildResolved{Seq: seq})
			} else {
				rec.Commands = append(rec.Commands, numbered(&history.CancelChild{}, seq))
			}
		}
		if ends {
			m.pending = append(m.pending[:at], m.pending[at+1:]...)
		}
		return rec
	}
	if m.random.IntN(4) == 0 {
		return rec
	}
	m.next++
	m.kinds[m.next] = m.random.IntN(3)
	input := history.Payload(fmt.Sprintf(`"%0*d"`, m.random.IntN(2000), m.next))
	rec.Commands = append(rec.Commands, []history.Command{
		numbered(&history.ScheduleActivity{Activity: "a", Input: input}, m.next),
		numbered(&history.StartTimer{Duration: time.Hour}, m.next),
		numbered(&history.StartChild{Workflow: "w", Input: input}, m.next),
	}[m.kinds[m.next]])
	m.pending = append(m.pending, m.next)
	return rec
}

// TestCheckpoints: from a checkpoint on, a fold says what one of the whole log says. Checkpoints
// take up half of a log at most. After them come no more than 64 records, or what is as long as
// what is pending.
func TestCheckpoints(t *testing.T) {
	const after = 64
	for seed := range uint64(18) {
		m := &madeUp{random: rand.New(rand.NewPCG(seed, 1)), kinds: map[int64]int{},
			grows: int(seed % 9)}
		whole, tail := &machine.Fold{Generation: 3}, &machine.Fold{Generation: 3}
		var log, checkpoints, bytes, records int // these: since the last checkpoint
		for number := 1; number <= 1000; number++ {
			rec := m.record(number)
			bytes += len(history.AppendRecord(nil, rec))
			log += len(history.AppendRecord(nil, rec))
			records++
			if rec.Checkpoint = whole.Checkpoint(after); rec.Checkpoint != nil {
				require.Greater(t, records, after, "seed %d, record %d", seed, number)
				text := history.AppendRecord(nil, rec)
				checkpoints += lengthOf(rec.Checkpoint)
				stored, err := new(history.Decoder).RecordWithCheckpoint(text)
				require.NoError(t, err)
				tail = &machine.Fold{Generation: 3}
				tail.Begin(stored.Checkpoint)
				bytes, records = 0, 1
			}
			whole.Add(rec)
			tail.Add(rec)
			if number%10 > 0 {
				continue
			}
			require.Equal(t, whole.Pending(), tail.Pending(), "seed %d, record %d", seed, number)
			require.Equal(t, whole.Records, tail.Records)
			if records > after+1 {
				pending := lengthOf(&history.Checkpoint{Pending: whole.Pending()})
				require.Less(t, bytes, 2*pending, "seed %d, record %d: %d records", seed,
					number, records)
			}
		}
		require.Len(t, whole.Pending(), len(m.pending))
		require.LessOrEqual(t, checkpoints, log, "seed %d", seed)
		require.Positive(t, checkpoints)
	}
}

func lengthOf(checkpoint *history.Checkpoint) int {
	return len(history.AppendRecord(nil,
		&history.Record{Checkpoint: checkpoint})) - len(history.AppendRecord(nil, &history.Record{}))
}
