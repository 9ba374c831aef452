package client

import (
	"context"
	"net/http"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// Activities gives what is known of a run's activities under way: those that heartbeat, run long, have failed before, or
// wait to be completed from outside.
func (c *Client) Activities(ctx context.Context, run string) ([]*wire.ActivityState, error) {
	answer := wire.Activities{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("runs", run, "activities")}, &answer)
	return answer.Activities, err
}

// UnreadSignals gives the signals that a run's code has not taken, in the order in which they came.
func (c *Client) UnreadSignals(ctx context.Context, run string) ([]wire.UnreadSignal, error) {
	answer := wire.UnreadSignals{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("runs", run, "signals")}, &answer)
	return answer.Signals, err
}

// CompleteActivity completes an attempt that waits to be, by the token that activity.Token gave.
// The same again is answered as the first time; another result is refused with [port.NotFound], a
// token past its time with [port.Expired].
func (c *Client) CompleteActivity(ctx context.Context, token string, result history.Payload) error {
	_, err := c.do(ctx, request{method: http.MethodPost,
		path: path("activities", token, "complete"), body: &wire.CompleteBody{Result: result}}, nil)
	return err
}

// FailActivity fails an attempt that waits to be completed. It is final.
func (c *Client) FailActivity(ctx context.Context, token string, failure wire.FailBody) error {
	_, err := c.do(ctx, request{method: http.MethodPost, path: path("activities", token, "fail"), body: &failure}, nil)
	return err
}

// HeartbeatActivity says that an attempt that waits to be completed is being worked on. Cancelled: the run asked it to stop.
func (c *Client) HeartbeatActivity(ctx context.Context, token string, details history.Payload) (cancelled bool, err error) {
	answer := wire.Beat{}
	_, err = c.do(ctx, request{method: http.MethodPost,
		path: path("activities", token, "heartbeat"),
		body: &wire.HeartbeatBody{Details: details}}, &answer)
	return answer.Cancelled, err
}

// Info says what the server is.
func (c *Client) Info(ctx context.Context) (*wire.Info, error) {
	info := &wire.Info{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("info")}, info)
	return info, err
}

// Health gives no error if the server is there and can do its work.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("health")}, &wire.Health{})
	return err
}
