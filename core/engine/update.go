package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// UpdateAnswer is how far an update has come.
type UpdateAnswer struct {
	Accepted
	Phase   history.UpdatePhase `json:"phase"`
	Result  history.Payload     `json:"result,omitempty"`
	Failure *history.Failure    `json:"failure,omitempty"`
	// Large names the outcome, result or failure, that was left out for its length: see
	// [UpdateAnswer.LeaveOut].
	Large map[string]port.Large `json:"large,omitempty"`

	update *history.UpdateReceived
	after  port.Position // the answer stands after this place of the log
	of     time.Time     // when the run began that it was sent to
}

// Outcome is the result or the failure as JSON, a failure in its stored form. Nil: there is none
// yet.
func (a *UpdateAnswer) Outcome() (history.Payload, error) {
	if a.Failure == nil {
		return a.Result, nil
	}
	return history.Marshal(a.Failure)
}

// LeaveOut gives the answer without the values in its outcome.
func (a UpdateAnswer) LeaveOut() UpdateAnswer {
	values := port.Summary{Result: a.Result, Failure: a.Failure}
	brief := values.LeaveOut(port.LongestPreview)
	a.Result, a.Failure, a.Large = brief.Result, brief.Failure, brief.Large
	return a
}

// Update sends a run an update and waits until it is completed or rejected, or the context ends;
// then the phase says how far it has come ("" before the run has looked), and the same update,
// repeated with its id, goes on waiting. A run that ends first answers [port.Closed].
func (e *Engine) Update(ctx context.Context, request MessageRequest, name string, input history.Payload) (UpdateAnswer, error) {
	answer, err := e.SendUpdate(ctx, request, name, input)
	if err != nil || final(answer.Phase) {
		return answer, err
	}
	return e.AwaitUpdate(ctx, request.Run, answer)
}

// SendUpdate sends a run an update and does not wait for its answer, which [Engine.AwaitUpdate]
// does. To a run that has ended it is refused with [port.Closed], unless it is a repetition that
// was answered before the end: then this is the answer.
func (e *Engine) SendUpdate(ctx context.Context, request MessageRequest, name string, input history.Payload) (UpdateAnswer, error) {
	if err := errors.Join(validName("update", name), validPayload("input", input)); err != nil {
		return UpdateAnswer{}, err
	}
	if request.ID == "" {
		request.ID, request.Unique = e.NewID(), true
	}
	update := history.NewUpdate(request.ID, name, input)
	summary, err := e.addressee(ctx, request)
	if err != nil {
		return UpdateAnswer{}, err
	}
	answer := UpdateAnswer{Accepted: Accepted{ID: request.ID}, update: update, of: summary.Started}
	var known recalled
	if summary.Status.Closed() {
		if !request.Unique {
			if known, err = e.recall(ctx, summary, update); err != nil {
				return UpdateAnswer{}, err
			}
		}
		answer.after = known.before(port.Position{Generation: summary.Generation})
		err := e.findAnswer(ctx, request.Run, &answer, answer.search())
		return answer, err
	}
	if answer.after, err = e.beforeAnswer(ctx, request.Run, update, summary.Generation); err != nil {
		return UpdateAnswer{}, e.unavailable(err, "it was not accepted")
	}
	answer.Accepted, known, err = e.mail(ctx, request, summary, update)
	answer.after = known.before(answer.after)
	return answer, err
}

// beforeAnswer is a place in the log that comes before the answer to an update that no earlier generation has: where a live run
// stands, if it does not know the update, else the beginning.
func (e *Engine) beforeAnswer(
	ctx context.Context, run string, update history.Mail, generation int,
) (port.Position, error) {
	s, err := e.live.hold(ctx, run)
	if err != nil {
		return port.Position{}, err
	}
	defer e.live.release(s)
	if place := s.live.ignorantOf(update); place != (port.Position{}) {
		return place, nil
	}
	return port.Position{Generation: generation}, nil
}

// ignorantOf is how far a live run has read its log without meeting a message; the zero Position if
// it has met it, or if there is no live run.
func (l *live) ignorantOf(message history.Mail) port.Position {
	if l == nil || l.exec == nil {
		return port.Position{}
	}
	if _, known := l.ledger.heard(message); known {
		return port.Position{}
	}
	return l.position
}

// AwaitUpdate waits until an update that was sent is completed or rejected, or the context ends, as [Engine.Update] does.
func (e *Engine) AwaitUpdate(ctx context.Context, run string, sent UpdateAnswer) (UpdateAnswer, error) {
	search := sent.search()
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
type answerSearch struct {
	at port.Position
	// from is the earliest place that is searched, unless the log says that a generation before it took
	// the update.
	from port.Position
}

// search begins a search for the answer.
func (a *UpdateAnswer) search() *answerSearch { return &answerSearch{at: a.after, from: a.after} }

// in is where the search of a generation begins.
func (s *answerSearch) in(generation int) port.Position {
	if s.from.Generation == generation {
		return s.from
	}
	return port.Position{Generation: generation}
}

// findAnswer searches the log, from where the last search ended, for the update's answers.
func (e *Engine) findAnswer(ctx context.Context, run string, answer *UpdateAnswer, search *answerSearch) error {
	view, err := e.Runs.Look(ctx, run, search.at)
	if err != nil {
		return e.unavailable(err, "the update is accepted, but its answer was not found out about")
	}
	if !view.Summary.Started.Equal(answer.of) { // another run has the id since: only what was before it counts
		if view, err = e.beforeAnew(ctx, run, view); err != nil {
			return e.unavailable(err, "the update is accepted, but its answer was not found out about")
		}
	}
	present := view.Summary.Generation
	if search.at.Generation != present {
		search.at = search.in(present)
	}
	answered, earlier, err := e.searchLog(ctx, run, view, answer, search)
	for g := present - 1; err == nil && !answered && g > 0 && (earlier || g >= search.from.Generation); g-- {
		of := &port.View{Summary: &port.Summary{Generation: g}, More: true}
		answered, earlier, err = e.searchLog(ctx, run, of, answer, &answerSearch{at: search.in(g)})
	}
	if err != nil {
		return e.unavailable(err, "the update is accepted, but its answer was not found out about")
	}
	search.from = search.in(present) // the earlier ones have ended
	if final(answer.Phase) {
		return nil
	}
	if view.Summary.Status.Closed() {
		return port.Errorf(port.Closed, "run %q ended before it answered update %q", run, answer.ID)
	}
	return nil
}

// beforeAnew is the last generation before the present run under an id began.
func (e *Engine) beforeAnew(ctx context.Context, run string, view *port.View) (*port.View, error) {
	present, err := e.readLedger(ctx, run, view.Summary.Generation)
	if err != nil {
		return nil, err
	}
	if start := view.Start(); start != nil {
		present.remember(start)
	}
	former := *view.Summary
	former.Generation, former.Status = max(present.origin-1, 0), history.Completed // or otherwise: it has ended
	return &port.View{Summary: &former, More: true}, nil
}

// searchLog searches one generation's log from where the last search ended, and says whether it has an answer, and whether an
// earlier generation took the update.
func (e *Engine) searchLog(
	ctx context.Context, run string, view *port.View, answer *UpdateAnswer, search *answerSearch,
) (answered, earlier bool, err error) {
	log := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: view.Summary.Generation,
		page: view.Records, more: view.More, last: search.at.Record}
	for {
		rec, err := log.next()
		if rec == nil || err != nil {
			return answered, earlier, err
		}
		search.at.Record = rec.Number
		if started := rec.Started(); started != nil {
			earlier = slices.Contains(started.Mail, history.MessageName(answer.update)) ||
				slices.Contains(started.Mail, answer.ID)
		}
		for _, command := range rec.Commands {
			if respond, ok := command.(*history.RespondUpdate); ok && respond.Answers(answer.update) {
				answer.Phase, answer.Result, answer.Failure = respond.Phase, respond.Result, respond.Failure
				answered = true
			}
		}
	}
}
