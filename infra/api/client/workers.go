package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/reprise-run/reprise/infra/api/wire"
)

// RegisterWorker adds a worker, or replaces the one with its URL. [port.Invalid] if the system must
// not call that URL.
func (c *Client) RegisterWorker(ctx context.Context, worker wire.WorkerBody) (*wire.Worker, error) {
	answer := &wire.Worker{}
	_, err := c.do(ctx, request{method: http.MethodPost, path: path("workers"), body: &worker},
		answer)
	return answer, err
}

// HeartbeatWorker says that a worker is there. Not known: it must register again.
func (c *Client) HeartbeatWorker(
	ctx context.Context, beat wire.HeartbeatWorkerBody,
) (known bool, err error) {
	answer := wire.HeardWorker{}
	_, err = c.do(ctx, request{method: http.MethodPost, path: path("workers", "heartbeat"),
		body: &beat}, &answer)
	return answer.Known, err
}

// Workers lists the workers of a service, or all where it is "", in the order of registration;
// those that are online alone, or all.
func (c *Client) Workers(ctx context.Context, service string, online bool) ([]wire.Worker, error) {
	query := url.Values{}
	if service != "" {
		query.Set("service", service)
	}
	if online {
		query.Set("online", strconv.FormatBool(online))
	}
	answer := wire.Workers{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("workers"), query: query},
		&answer)
	return answer.Workers, err
}

// RemoveWorker removes the worker with a URL. [port.NotFound] if there is none.
func (c *Client) RemoveWorker(ctx context.Context, workerURL string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: path("workers"),
		query: url.Values{"url": {workerURL}}}, nil)
	return err
}
