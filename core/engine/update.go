package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// UpdateAnswer is how far an update has come.
type UpdateAnswer struct {
	Accepted
	Phase   history.UpdatePhase `json:"phase"`
	Result  history.Payload     `json:"result,omitempty"`
	Failure *history.Failure    `json:"failure,omitempty"`

	after Position // the answer stands after this place of the log
}

// Update sends a run an update and waits until it is completed or rejected, or the context ends; then the phase says how
// far it has come ("" before the run has looked), and the same update, repeated with its id, goes on waiting. A run that
// ends first answers [Closed].
func (e *Engine) Update(ctx context.Context, request MailRequest, name string, input history.Payload) (UpdateAnswer, error) {
	answer, err := e.SendUpdate(ctx, request, name, input)
	if err != nil || final(answer.Phase) {
		return answer, err
	}
	return e.AwaitUpdate(ctx, request.Run, answer)
}

// SendUpdate sends a run an update and does not wait for its answer, which [Engine.AwaitUpdate] does. To a run that has
// ended it is refused with [Closed], unless it is a repetition that was answered before the end: then this is the answer.
func (e *Engine) SendUpdate(ctx context.Context, request MailRequest, name string, input history.Payload) (UpdateAnswer, error) {
	if err := errors.Join(validName("update", name), validPayload("input", input)); err != nil {
		return UpdateAnswer{}, err
	}
	if request.ID == "" {
		request.ID = e.NewID()
	}
	answer := UpdateAnswer{Accepted: Accepted{ID: request.ID}}
	if summary, err := e.Get(ctx, request.Run); err == nil && summary.Status.Closed() {
		err := e.findAnswer(ctx, request.Run, &answer, &answerSearch{})
		return answer, err
	}
	after, err := e.beforeAnswer(ctx, request)
	if err != nil {
		return UpdateAnswer{}, e.unavailable(err, "it was not accepted")
	}
	accepted, err := e.mail(ctx, request, func(id string) history.Event { return history.NewUpdate(id, name, input) }, false)
	if err != nil {
		return UpdateAnswer{}, err
	}
	answer.Accepted, answer.after = accepted, after
	return answer, nil
}

// beforeAnswer is a place in the log that comes before the answer to an update: where a live run stands, if it does not know
// the update, else the beginning.
func (e *Engine) beforeAnswer(ctx context.Context, request MailRequest) (Position, error) {
	s, err := e.live.hold(ctx, request.Run)
	if err != nil {
		return Position{}, err
	}
	defer e.live.release(s)
	if s.live == nil || s.live.exec == nil {
		return Position{}, nil
	}
	if _, known := s.live.ledger.mail[request.ID]; known {
		return Position{}, nil
	}
	return s.live.position, nil
}

// AwaitUpdate waits until an update that was sent is completed or rejected, or the context ends, as [Engine.Update] does.
func (e *Engine) AwaitUpdate(ctx context.Context, run string, sent UpdateAnswer) (UpdateAnswer, error) {
	search := &answerSearch{at: sent.after}
	err := e.until(ctx, run, func() (bool, error) {
		err := e.findAnswer(ctx, run, &sent, search)
		return final(sent.Phase), err
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return sent, nil
	}
	return sent, err
}

func final(phase history.UpdatePhase) bool {
	return phase == history.UpdateCompleted || phase == history.UpdateRejected
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
	earlier, err := e.searchLog(ctx, run, view, answer, search)
	for generation := view.Summary.Generation - 1; err == nil && earlier && generation > 0; generation-- {
		of := &View{Summary: &Summary{Generation: generation}, More: true}
		earlier, err = e.searchLog(ctx, run, of, answer, &answerSearch{at: Position{Generation: generation}})
	}
	if err != nil {
		return e.unavailable(err, "the update is accepted, but its answer was not found out about")
	}
	if final(answer.Phase) {
		return nil
	}
	if view.Summary.Status.Closed() {
		return fail(Closed, "run %q ended (%s) before it answered update %q", run, view.Summary.Status, answer.ID)
	}
	return nil
}

// searchLog searches one generation's log from where the last search ended. Earlier: there is no answer in it, but an
// earlier generation took the update.
func (e *Engine) searchLog(ctx context.Context, run string, view *View, answer *UpdateAnswer, search *answerSearch) (earlier bool, err error) {
	log := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: view.Summary.Generation, page: view.Records, more: view.More, last: search.at.Record}
	for {
		rec, err := log.next()
		if rec == nil || err != nil {
			return earlier, err
		}
		search.at.Record = rec.Number
		for _, event := range rec.Events {
			if started, ok := event.(*history.Started); ok && slices.Contains(started.Mail, answer.ID) {
				earlier = true
			}
		}
		for _, command := range rec.Commands {
			if respond, ok := command.(*history.RespondUpdate); ok && respond.ID == answer.ID {
				answer.Phase, answer.Result, answer.Failure = respond.Phase, respond.Result, respond.Failure
				earlier = false
			}
		}
	}
}
