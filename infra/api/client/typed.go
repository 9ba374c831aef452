package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// ErrRejected is what errors.Is says of an update that the workflow's validator refused: nothing happened.
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

// Start starts a run of a workflow. It returns when the start is durable. With an id, the same start may be repeated: it
// finds the run that is there. Without one, one is made.
func Start[I, O any](ctx context.Context, c *Client, w *workflow.Workflow[I, O], id string, input I) (*Run[O], error) {
	return StartWith(ctx, c, w, engine.StartRequest{Run: id}, input)
}

// StartWith is [Start] with all that a request can say. Its Workflow and Input are set from the other arguments.
func StartWith[I, O any](ctx context.Context, c *Client, w *workflow.Workflow[I, O], start engine.StartRequest, input I) (*Run[O], error) {
	payload, err := encode("input of workflow "+w.Name(), input)
	if err != nil {
		return nil, err
	}
	start.Workflow, start.Input = w.Name(), payload
	started, err := c.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	return &Run[O]{ID: started.Run, client: c}, nil
}

// Execute starts a run of a workflow and waits for its result: [Start], then [Run.Result].
func Execute[I, O any](ctx context.Context, c *Client, w *workflow.Workflow[I, O], id string, input I) (O, error) {
	run, err := Start(ctx, c, w, id, input)
	if err != nil {
		var none O
		return none, err
	}
	return run.Result(ctx)
}

// Result waits until the run has ended, and gives its result. The error of a run that failed, was cancelled or terminated
// wraps its *history.Failure; a run that is blocked gives a [*Problem] with the code blocked.
func (r *Run[O]) Result(ctx context.Context) (O, error) { return Result[O](ctx, r.client, r.ID) }

// Summary gives what everybody sees of the run.
func (r *Run[O]) Summary(ctx context.Context) (*engine.Summary, error) {
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
		return none, &Problem{Type: "urn:reprise:problem:blocked", Title: "Blocked", Status: http.StatusLocked, Code: engine.Blocked,
			Detail: fmt.Sprintf("run %q is blocked (%s): %s", run, summary.Blocked.Reason, summary.Blocked.Message)}
	}
	return none, fmt.Errorf("run %q ended (%s)", run, summary.Status)
}

// Signal sends a run a signal. It returns when the signal is durable.
func Signal[T any](ctx context.Context, c *Client, run string, signal *workflow.Signal[T], input T) error {
	payload, err := encode("input of signal "+signal.Name(), input)
	if err != nil {
		return err
	}
	_, err = c.Signal(ctx, engine.MessageRequest{Run: run}, signal.Name(), payload)
	return err
}

// Update sends a run an update and waits for its result. The error of one that failed wraps its *history.Failure; of one
// that was refused also [ErrRejected].
func Update[I, O any](ctx context.Context, c *Client, run string, update *workflow.Update[I, O], input I) (O, error) {
	var none O
	payload, err := encode("input of update "+update.Name(), input)
	if err != nil {
		return none, err
	}
	answer, err := c.Update(ctx, engine.MessageRequest{Run: run}, update.Name(), payload)
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
