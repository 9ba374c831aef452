package port

import (
	"errors"

	"github.com/reprise-run/reprise/core/history"
)

// Shown gives, of what a store has read of a summary, what people are shown. If it cannot be read,
// that is what else the store knows: the run is blocked, as it will be once somebody looks at it.
// Any other error stays one.
func Shown(known *Summary, err error) (*Summary, error) {
	if known == nil || !errors.Is(err, history.ErrUnreadable) {
		return known, err
	}
	if known.Blocked == nil {
		known.Blocked = &Block{Reason: ReasonUnreadable, Message: Unreadable(err)}
	}
	return known, nil
}

// Unreadable is the message of a run of which something stored cannot be read.
func Unreadable(err error) string {
	return err.Error() + ". Run the version that wrote it, or, if it is damaged, restore it from " +
		"a backup; then unblock the run"
}
