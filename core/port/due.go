package port

import (
	"context"
	"time"
)

// Due keeps timers that are too far away for a queue's delay, in buckets of a minute (PROTOCOL.md
// rule 8).
type Due interface {
	// PutDue puts timers, perhaps many. After an error, any of them may be there.
	PutDue(ctx context.Context, timers ...DueTimer) error
	// DueBefore gives timers whose bucket begins before a time, the earliest first, one page at
	// most.
	DueBefore(ctx context.Context, before time.Time) ([]DueTimer, error)
	DeleteDue(ctx context.Context, timers []DueTimer) error
}

// DueTimer is a long timer's item.
type DueTimer struct {
	At         time.Time
	Run        string
	Generation int
	Seq        int64
}
