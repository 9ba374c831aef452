package engine

import (
	"context"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// finished is an item of the inbox of which nothing follows any more.
type finished struct {
	key string
	// note is where the log has the item, if it is a message whose id a caller chose; else zero.
	note port.Position
}

// takenBy is an item that a record took, once all that the record asks for was sent.
func takenBy(item port.Item, by port.Position) finished {
	if mail, ok := item.Event.(history.Mail); ok && mail.Chosen() {
		return finished{item.Key, by}
	}
	return finished{key: item.Key}
}

// void has an item deleted that no record takes.
func (p *plan) void(item port.Item) { p.tidy = append(p.tidy, finished{key: item.Key}) }

// tidyUp deletes the items that are finished. The notes of messages come first: a sender who uses an
// id again finds the item, the note, or both (rule 3).
func (v *visit) tidyUp(ctx context.Context) error {
	if len(v.tidy) == 0 {
		return nil
	}
	keys := make([]string, 0, len(v.tidy))
	var notes []port.Note
	for _, item := range v.tidy {
		if keys = append(keys, item.key); item.note != (port.Position{}) {
			notes = append(notes, port.Note{Key: item.key, Taken: item.note})
		}
	}
	if len(notes) > 0 {
		if err := v.e.Runs.Note(ctx, v.run, notes); err != nil {
			return err
		}
	}
	if err := v.e.Runs.Delete(ctx, v.run, keys); err != nil {
		return err
	}
	v.tidy = nil
	return nil
}
