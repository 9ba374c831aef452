package aws

import (
	"context"
	"sync"
)

// atOnce is how many requests of one [Each] are under way at one time.
const atOnce = 16

// Each does the same for 0 to n-1, several at a time, and waits. The first error ends it, and is returned.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, atOnce)
	var busy sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		busy.Go(func() {
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	busy.Wait()
	return context.Cause(ctx)
}
