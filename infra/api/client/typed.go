package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// ErrRejected is what errors.Is says of an update that the workflow's validator refused: nothing
// happened.
var ErrRejected = errors.New("rejected")

// Run is a run whose workflow gives an O.
type Run[O any] struct {
	ID     string
	client *Client
}

// RunOf names a run of a workflow that was started before, by whomever.
func RunOf[I, O any](c *Client, _ *workflow.Workflow[I, O], id string) *Run[O] {
	return &Run[O]{ID: id, client: c}
}

// StartOption changes a start: see [WithAttributes] and [WithReuse].
type StartOption func(*engine.StartRequest) error

// WithAttributes gives the run attributes from its start: WithAttributes(Customer.Is("ada")).
func WithAttributes(values ...workflow.AttributeValue) StartOption {
	return func(start *engine.StartRequest) (err error) {
		start.Attributes, err = workflow.AttributesOf(values...)
		return err
	}
}

// WithReuse starts the run also if one of its id has ended: as the next generation.
func WithReuse() StartOption {
	return func(start *engine.StartRequest) error {
		start.Reuse = true
		return nil
	}
}

// Start starts a run of a workflow. It returns when the start is durable. With an id, the same
// start may be repeated: it finds the run that is there. Without one, one is made.
func Start[I, O any](ctx context.Context, c *Client, w *workflow.Workflow[I, O], id string, input I, options ...StartOption) (*Run[O], error) {
	payload, err := encode("input of workflow "+w.Name(), input)
	if err != nil {
		return nil, err
	}
	start := engine.StartRequest{Run: id, Workflow: w.Name(), Input: payload}
	for _, option := range options {
		if err := option(&start); err != nil {
			return nil, err
		}
	}
	started, err := c.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	return &Run[O]{ID: started.Run, client: c}, nil
}

// Execute starts a run of a workflow and waits for its result: [Start], then [Run.Result].
func Execute[I, O any](ctx context.Context, c *Client, w *workflow.Workflow[I, O], id string, input I, options ...StartOption) (O, error) {
	run, err := Start(ctx, c, w, id, input, options...)
	if err != nil {
		var none O
		return none, err
	}
	return run.Result(ctx)
}

// Runs goes through the runs of a workflow that match a query and all of the filters, the latest
// start first. It ends with the first error. [workflow.Attribute.Of] reads an attribute of a
// summary.
func Runs[I, O any](ctx context.Context, c *Client, w *workflow.Workflow[I, O],
	query port.ListQuery, filters ...workflow.AttributeFilter,
) iter.Seq2[*wire.Summary, error] {
	attributes, err := workflow.AttributesOf(filters...)
	if err != nil {
		return func(yield func(*wire.Summary, error) bool) { yield(nil, err) }
	}
	query.Workflow = w.Name()
	maps.Copy(attributes, query.Attributes)
	query.Attributes = attributes
	return c.All(ctx, query)
}

// Result waits until the run has ended, and gives its result. The error of a run that failed, was
// cancelled or terminated wraps its *history.Failure; a run that is blocked gives a [*Problem] with
// the code blocked.
func (r *Run[O]) Result(ctx context.Context) (O, error) { return Result[O](ctx, r.client, r.ID) }

// Summary gives what everybody sees of the run.
func (r *Run[O]) Summary(ctx context.Context) (*wire.Summary, error) {
	return r.client.Get(ctx, r.ID)
}

// Result waits for a run of which only the id is at hand, as [Run.Result] does.
func Result[O any](ctx context.Context, c *Client, run string) (O, error) {
	var none O
	summary, err := c.Wait(ctx, run)
	switch {
	case err != nil:
		return none, err
	case summary.Failure != nil:
		return none, fmt.Errorf("run %q ended (%s): %w", run, summary.Status, summary.Failure)
	case summary.Status == history.Completed:
		return decode[O](fmt.Sprintf("result of run %q", run), summary.Result)
	case summary.Blocked != nil:
		return none, &Problem{Type: "urn:reprise:problem:blocked", Title: "Blocked",
			Status: http.StatusLocked, Code: port.Blocked,
			Detail: fmt.Sprintf("run %q is blocked (%s): %s", run, summary.Blocked.Reason,
				summary.Blocked.Message)}
	}
	return none, fmt.Errorf("run %q ended (%s)", run, summary.Status)
}

// MessageOption changes a signal or an update: see [WithMessageID].
type MessageOption func(*engine.MessageRequest)

// WithMessageID gives the message an id: the same message may then be repeated, by another process,
// too, and is delivered once.
func WithMessageID(id string) MessageOption {
	return func(message *engine.MessageRequest) { message.ID = id }
}

func message(run string, options []MessageOption) engine.MessageRequest {
	m := engine.MessageRequest{Run: run}
	for _, option := range options {
		option(&m)
	}
	return m
}

// Signal sends a run a signal. It returns when the signal is durable.
func Signal[T any](ctx context.Context, c *Client, run string, signal *workflow.Signal[T], input T, options ...MessageOption) error {
	payload, err := encode("input of signal "+signal.Name(), input)
	if err != nil {
		return err
	}
	_, err = c.Signal(ctx, message(run, options), signal.Name(), payload)
	return err
}

// Update sends a run an update and waits for its result. The error of one that failed wraps its
// *history.Failure; of one that was refused also [ErrRejected].
func Update[I, O any](ctx context.Context, c *Client, run string, update *workflow.Update[I, O], input I, options ...MessageOption) (O, error) {
	var none O
	payload, err := encode("input of update "+update.Name(), input)
	if err != nil {
		return none, err
	}
	answer, err := c.Update(ctx, message(run, options), update.Name(), payload)
	switch {
	case err != nil:
		return none, err
	case answer.Phase == history.UpdateRejected && answer.Failure != nil:
		return none, fmt.Errorf("update %s was %w: %w", update.Name(), ErrRejected, answer.Failure)
	case answer.Phase == history.UpdateRejected:
		return none, fmt.Errorf("update %s was %w", update.Name(), ErrRejected)
	case answer.Failure != nil:
		return none, fmt.Errorf("update %s failed: %w", update.Name(), answer.Failure)
	}
	return decode[O]("result of update "+update.Name(), answer.Result)
}

// Query asks a run, open or closed, a question that changes nothing.
func Query[I, O any](ctx context.Context, c *Client, run string, query *workflow.Query[I, O], input I) (O, error) {
	var none O
	payload, err := encode("input of query "+query.Name(), input)
	if err != nil {
		return none, err
	}
	answer, err := c.Query(ctx, run, query.Name(), payload)
	if err != nil {
		return none, err
	}
	return decode[O]("answer to query "+query.Name(), answer)
}

func encode(what string, value any) (history.Payload, error) {
	payload, err := history.Encode(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return payload, nil
}

func decode[T any](what string, payload history.Payload) (T, error) {
	value, err := history.Decode[T](payload)
	if err != nil {
		return value, fmt.Errorf("%s: %w", what, err)
	}
	return value, nil
}
