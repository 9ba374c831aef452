package client

import (
	"context"
	"net/http"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// Signal sends a run a signal. It returns when the signal is durable. What one client sends a run arrives in the order in
// which it was accepted.
func (c *Client) Signal(
	ctx context.Context, mail engine.MessageRequest, name string, input history.Payload,
) (wire.Accepted, error) {
	mail = c.stamp(mail)
	return c.mail(ctx, mail.Run, path("runs", mail.Run, "signals", name),
		&wire.MailBody{ID: mail.ID, Unique: mail.Unique, After: mail.After, Input: input})
}

// Cancel asks a run's code to stop.
func (c *Client) Cancel(
	ctx context.Context, mail engine.MessageRequest, reason string,
) (wire.Accepted, error) {
	mail = c.stamp(mail)
	return c.mail(ctx, mail.Run, path("runs", mail.Run, "cancel"),
		&wire.StopBody{ID: mail.ID, Unique: mail.Unique, After: mail.After, Reason: reason})
}

// Terminate ends a run without asking its code, even if it is blocked.
func (c *Client) Terminate(
	ctx context.Context, mail engine.MessageRequest, reason string,
) (wire.Accepted, error) {
	mail = c.stamp(mail)
	return c.mail(ctx, mail.Run, path("runs", mail.Run, "terminate"),
		&wire.StopBody{ID: mail.ID, Unique: mail.Unique, After: mail.After, Reason: reason})
}

// Reset has a run go on in a new generation from one of its records, even if it is blocked or has ended.
func (c *Client) Reset(
	ctx context.Context, mail engine.MessageRequest, to engine.ResetPoint, reason string,
) (wire.Accepted, error) {
	mail = c.stamp(mail)
	accepted := wire.Accepted{}
	_, err := c.do(ctx, request{method: http.MethodPost, path: path("runs", mail.Run, "reset"),
		once: true,
		body: &wire.ResetBody{ID: mail.ID, Unique: mail.Unique, After: mail.After,
			Generation: to.Generation, Record: to.Record,
			ExcludeSignals: to.ExcludeSignals,
			Definition:     to.Definition,
			Reason:         reason}}, &accepted)
	return c.took(mail.Run, accepted, err)
}

// Update sends a run an update and waits until it is completed or rejected, or the context ends: then it gives the
// context's error and how far it has come, and the same update, repeated with its id, goes on waiting.
func (c *Client) Update(
	ctx context.Context, mail engine.MessageRequest, name string, input history.Payload,
) (wire.UpdateAnswer, error) {
	mail = c.stamp(mail)
	last := wire.UpdateAnswer{ID: mail.ID}
	for {
		answer := wire.UpdateAnswer{}
		asked := request{method: http.MethodPost, path: path("runs", mail.Run, "updates", name),
			query: c.poll(ctx),
			body:  &wire.MailBody{ID: mail.ID, Unique: mail.Unique, After: mail.After, Input: input}}
		got, err := c.do(ctx, asked, &answer)
		if err == nil {
			err = c.leftOut(ctx, asked, got, answer.Large,
				map[string]any{port.ValueResult: &answer.Result,
					port.ValueFailure: &answer.Failure})
		}
		if err != nil {
			if ctx.Err() != nil {
				return last, ctx.Err()
			}
			return last, err
		}
		c.stamps.accepted(mail.Run, answer.Stamp)
		if answered(answer) {
			return answer, nil
		}
		if last = answer; ctx.Err() != nil {
			return last, ctx.Err()
		}
	}
}

// SendUpdate sends a run an update and does not wait for its answer: the same update, repeated with the id of what this
// gives, does.
func (c *Client) SendUpdate(
	ctx context.Context, mail engine.MessageRequest, name string, input history.Payload,
) (wire.UpdateAnswer, error) {
	mail = c.stamp(mail)
	answer := wire.UpdateAnswer{}
	_, err := c.do(ctx, request{method: http.MethodPost,
		path: path("runs", mail.Run, "updates", name),
		body: &wire.MailBody{ID: mail.ID, Unique: mail.Unique, After: mail.After, Input: input}},
		&answer)
	_, err = c.took(mail.Run, wire.Accepted{ID: answer.ID, Stamp: answer.Stamp}, err)
	return answer, err
}

func answered(answer wire.UpdateAnswer) bool {
	return answer.Phase == history.UpdateCompleted || answer.Phase == history.UpdateRejected
}

// Query asks a run, open or closed, a question that changes nothing.
func (c *Client) Query(ctx context.Context, run, name string, input history.Payload) (history.Payload, error) {
	answer := wire.QueryAnswer{}
	asked := request{method: http.MethodPost, path: path("runs", run, "queries", name),
		body: &wire.QueryBody{Input: input}}
	got, err := c.do(ctx, asked, &answer)
	if err == nil {
		err = c.leftOut(ctx, asked, got, answer.Large,
			map[string]any{port.ValueResult: &answer.Result})
	}
	return answer.Result, err
}

// stamp gives a mail its id, and its place after the client's last one.
func (c *Client) stamp(mail engine.MessageRequest) engine.MessageRequest {
	if mail.ID == "" {
		mail.ID, mail.Unique = newID(), true
	}
	mail.After = max(mail.After, c.stamps.after(mail.Run))
	return mail
}

func (c *Client) mail(ctx context.Context, run, path string, body any) (wire.Accepted, error) {
	accepted := wire.Accepted{}
	_, err := c.do(ctx, request{method: http.MethodPost, path: path, body: body}, &accepted)
	return c.took(run, accepted, err)
}

func (c *Client) took(run string, accepted wire.Accepted, err error) (wire.Accepted, error) {
	if err != nil {
		return wire.Accepted{}, err
	}
	c.stamps.accepted(run, accepted.Stamp)
	return accepted, nil
}
