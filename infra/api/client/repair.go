package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/reprise-run/reprise/infra/api/wire"
)

// Diagnose looks for what does not go on by itself: blocked runs, timers that nobody fires, messages that nobody could read.
func (c *Client) Diagnose(ctx context.Context) (*wire.Diagnosis, error) {
	found := &wire.Diagnosis{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("doctor")}, found)
	return found, err
}

// Inspect reads one page of the runs that are not finished, and reports what they wait for in vain:
// first from cursor "", then from [Inspection.Next], until there is none. It changes nothing.
func (c *Client) Inspect(ctx context.Context, cursor string) (*wire.Inspection, error) {
	query := url.Values{}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	found := &wire.Inspection{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("doctor", "runs"), query: query}, found)
	return found, err
}

// Rebuild brings back one page of what was in a deployment's queues, from the cursor on: first from "", then from
// [Rebuilt.Next], until there is none. A server with queues of its own refuses: it rebuilds them at its start.
func (c *Client) Rebuild(ctx context.Context, cursor string) (*wire.Rebuilt, error) {
	query := url.Values{}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	done := &wire.Rebuilt{}
	_, err := c.do(ctx, request{method: http.MethodPost, path: path("rebuild"), query: query}, done)
	return done, err
}
