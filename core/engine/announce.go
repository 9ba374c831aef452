package engine

import (
	"context"

	"github.com/reprise-run/reprise/core/port"
)

// announce files something that happened to a run, and has the run looked at (PROTOCOL.md rule 1).
//
// The message that carries it goes first. A caller that dies after the filing, and before the
// message, would else leave an item at which no one looks: a start would pend for ever. In one
// process both die together, and a rebuild finds the item. There the message goes last, and carries
// nothing.
func (e *Engine) announce(ctx context.Context, message port.Resume, file func() error) error {
	if !e.Together {
		if err := e.Queue.SendResumes(ctx, message); err != nil {
			return err
		}
		return file()
	}
	if err := file(); err != nil {
		return err
	}
	message.Carries, message.Creates = nil, nil
	return e.Queue.SendResumes(ctx, message)
}
