package dynamo

import (
	"context"
	"time"
)

// At has the store take this for the time.
func (s *Store) At(now func() time.Time) { s.now = now }

// Hurry has the store try again at once.
func (s *Store) Hurry() { s.pause = func(ctx context.Context, _ int) error { return ctx.Err() } }
