package engine

import (
	"context"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// replayed replays the generation's log, with the record that is to be put at its end, where
// [Config.ReplayEach] asks for that. Code that decides differently the second time blocks the run,
// and its record is not put.
func (v *visit) replayed(ctx context.Context, commit *port.Commit) error {
	if !v.e.config.ReplayEach || commit.Record.Number == 1 && slices.ContainsFunc(commit.Record.Events, hasBase) {
		return nil // the next record's replay begins with the base of this one
	}
	export := &history.Export{Run: v.run, Generation: commit.Generation, Workflow: v.slot.live.exec.ID().Workflow}
	if commit.Record.Number > 1 {
		err := v.e.eachThatCounts(ctx, v.run, commit.Generation, port.Position{},
			func(_ int, rec *history.Record) error {
				export.Records = append(export.Records, rec)
				return nil
			})
		if err != nil {
			return err
		}
	}
	export.Records = append(export.Records, commit.Record)
	return v.e.replay(v.slot.live.code.entry, export)
}

func hasBase(event history.Event) bool {
	started, ok := event.(*history.Started)
	return ok && started.Base != nil
}
