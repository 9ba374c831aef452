//go:build kill

package kill

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
)

// callers are the clients of all orders, one goroutine each.
type callers struct {
	client   *client.Client
	repeated atomic.Int64

	mu   sync.Mutex
	told map[string]said
	errs []error
	wait sync.WaitGroup
}

func newCallers(c *client.Client) *callers { return &callers{client: c, told: map[string]said{}} }

// begin has a caller follow its plan.
func (c *callers) begin(ctx context.Context, p *plan) {
	c.wait.Go(func() {
		told, err := p.follow(ctx, c)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.told[p.run] = told
		if err != nil {
			c.errs = append(c.errs, errors.New(p.run+" ("+string(p.fate)+"): "+err.Error()))
		}
	})
}

// call makes a call until the server has answered it: what a kill broke off is repeated.
func (c *callers) call(ctx context.Context, do func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := do(limited)
		cancel()
		if err == nil || ctx.Err() != nil || answered(err) {
			return err
		}
		c.repeated.Add(1)
		pause(ctx, 20*time.Millisecond)
	}
}

// definite is an error that repeating does not mend.
type definite struct{ error }

// answered says whether an error is the server's answer, and not the lack of one.
func answered(err error) bool {
	if errors.As(err, &definite{}) {
		return true
	}
	code := client.CodeOf(err)
	return code != "" && code != port.Unavailable
}

// allow takes an answer of this code for a good one.
func allow(err error, code port.Code) error {
	if client.CodeOf(err) == code {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
