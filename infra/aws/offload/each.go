package offload

import (
	"context"
	"sync"
)

// atOnce is how many places are asked at one time.
const atOnce = 16

// each does the same with all, several at a time, and gives the answers in their order. The first error ends it.
func each[A, B any](ctx context.Context, all []A, do func(context.Context, A) (B, error)) ([]B, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make([]B, len(all))
	places := make(chan struct{}, atOnce)
	var busy sync.WaitGroup
	for i, one := range all {
		places <- struct{}{}
		busy.Go(func() {
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			var err error
			if answers[i], err = do(ctx, one); err != nil {
				cancel(err)
			}
		})
	}
	busy.Wait()
	return answers, context.Cause(ctx)
}
