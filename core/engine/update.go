package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
)

// UpdateAnswer is how far an update has come.
type UpdateAnswer struct {
	Accepted
	Phase   history.UpdatePhase `json:"phase"`
	Result  history.Payload     `json:"result,omitempty"`
	Failure *history.Failure    `json:"failure,omitempty"`
}

// Update sends a run an update and waits until it is completed or rejected, or the context ends; then the phase says how
// far it has come ("" before the run has looked), and the same update, repeated with its id, goes on waiting. A run that
// ends first answers [Closed].
func (e *Engine) Update(ctx context.Context, request MailRequest, name string, input history.Payload) (UpdateAnswer, error) {
	if err := errors.Join(validName("update", name), validPayload("input", input)); err != nil {
		return UpdateAnswer{}, err
	}
	if request.ID == "" {
		request.ID = e.NewID()
	}
	answer := UpdateAnswer{Accepted: Accepted{ID: request.ID}}
	if summary, err := e.Get(ctx, request.Run); err == nil && summary.Status.Closed() {
		// A repetition may ask for an answer that was given before the end.
		return answer, e.findAnswer(ctx, request.Run, &answer, &answerSearch{})
	}
	accepted, err := e.mail(ctx, request, func(id string) history.Event { return history.NewUpdate(id, name, input) }, false)
	if err != nil {
		return UpdateAnswer{}, err
	}
	answer.Accepted = accepted
	search := &answerSearch{}
	err = e.until(ctx, request.Run, func() (bool, error) {
		err := e.findAnswer(ctx, request.Run, &answer, search)
		return answer.Phase == history.UpdateCompleted || answer.Phase == history.UpdateRejected, err
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return answer, nil
	}
	return answer, err
}

// answerSearch remembers how far the log was searched.
type answerSearch struct{ at Position }

// findAnswer searches the log, from where the last search ended, for the update's answers.
func (e *Engine) findAnswer(ctx context.Context, run string, answer *UpdateAnswer, search *answerSearch) error {
	view, err := e.Runs.Look(ctx, run, search.at)
	if err != nil {
		return e.unavailable(err, "the update is accepted, but its answer was not found out about")
	}
	if search.at.Generation != view.Summary.Generation {
		search.at = Position{Generation: view.Summary.Generation}
	}
	log := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: view.Summary.Generation, page: view.Records, more: view.More, last: search.at.Record}
	for {
		rec, err := log.next()
		if err != nil {
			return e.unavailable(err, "the update is accepted, but its answer was not found out about")
		}
		if rec == nil {
			break
		}
		search.at.Record = rec.Number
		for _, command := range rec.Commands {
			if respond, ok := command.(*history.RespondUpdate); ok && respond.ID == answer.ID {
				answer.Phase, answer.Result, answer.Failure = respond.Phase, respond.Result, respond.Failure
			}
		}
	}
	if answer.Phase == history.UpdateCompleted || answer.Phase == history.UpdateRejected {
		return nil
	}
	if view.Summary.Status.Closed() {
		return fail(Closed, "run %q ended (%s) before it answered update %q", run, view.Summary.Status, answer.ID)
	}
	return nil
}
