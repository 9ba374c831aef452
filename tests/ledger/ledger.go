// Package ledger checks what a run has left behind, for tests of systems that fail: that nothing in its log is double or missing.
package ledger

import (
	"context"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Ledger is what the log of one generation says so far. The zero value is that of a generation without records.
type Ledger struct {
	// Children are the numbers of the commands that start child runs.
	Children []int64

	records  int
	open     map[int64]bool // commands by number: true until they have an answer
	mail     map[string]bool
	finished bool
}

// Add adds the next record. The error says what is double in it, or missing before it.
func (l *Ledger) Add(rec *history.Record) error {
	if l.records++; rec.Number != l.records || l.finished {
		return fmt.Errorf("record %d comes after %d others, closed: %t", rec.Number, l.records-1, l.finished)
	}
	if l.open == nil {
		l.open, l.mail = map[int64]bool{}, map[string]bool{}
	}
	for _, event := range rec.Events {
		switch event := event.(type) {
		case history.Resolution:
			seq := event.Resolves()
			if !l.open[seq] {
				return fmt.Errorf("record %d answers command %d, which is not there or has its answer", rec.Number, seq)
			}
			l.open[seq] = false
		case history.Mail:
			if l.mail[event.MailID()] {
				return fmt.Errorf("record %d takes mail %s again", rec.Number, event.MailID())
			}
			l.mail[event.MailID()] = true
		}
	}
	for _, command := range rec.Commands {
		switch command := command.(type) {
		case *history.ScheduleActivity, *history.StartTimer, *history.StartChild:
			seq := command.(history.Sequenced).Seq()
			if _, there := l.open[seq]; there {
				return fmt.Errorf("record %d gives command %d again", rec.Number, seq)
			}
			l.open[seq] = true
			if _, child := command.(*history.StartChild); child {
				l.Children = append(l.Children, seq)
			}
		}
	}
	l.finished = rec.Closes() != nil
	return nil
}

// Check reads all generations of a run that has ended, and of its children whose ids are made of its own. It gives the runs that
// it read.
func Check(ctx context.Context, runs port.Runs, run string) (read []string, err error) {
	summary, err := runs.Summary(ctx, run)
	if err != nil {
		return nil, err
	}
	read = []string{run}
	for generation := 1; generation <= summary.Generation; generation++ {
		l := &Ledger{}
		for {
			records, err := runs.Records(ctx, run, generation, l.records)
			if err != nil {
				return nil, err
			}
			for _, rec := range records {
				if err := l.Add(rec); err != nil {
					return nil, fmt.Errorf("generation %d of run %s: %w", generation, run, err)
				}
			}
			if len(records) == 0 {
				break
			}
		}
		if !l.finished {
			return nil, fmt.Errorf("generation %d of run %s has no last record among its %d", generation, run, l.records)
		}
		for _, seq := range l.Children {
			children, err := Check(ctx, runs, fmt.Sprintf("%s.%d.%d", run, generation, seq))
			if err != nil {
				return nil, err
			}
			read = append(read, children...)
		}
	}
	return read, nil
}
