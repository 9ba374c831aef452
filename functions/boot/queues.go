package boot

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reprise-run/reprise/core/engine"
)

// margin is what a function keeps of its time, to answer before Lambda ends it: a tenth, at most this.
const margin = time.Second

// deadline is when the work of this invocation must be over.
func deadline(ctx context.Context) time.Time {
	end, limited := ctx.Deadline()
	if !limited { // only where it does not run in Lambda
		return time.Time{}
	}
	return end.Add(-min(margin, time.Until(end)/10))
}

// retry has messages of a queue come again.
func (s *System) retry(queue string) func(context.Context, string, int) error {
	return func(ctx context.Context, receiptHandle string, received int) error {
		return s.Queue.Retry(ctx, queue, receiptHandle, received)
	}
}

// HandleResumes is functions/activate.
func (s *System) HandleResumes(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	b := &batch{logger: s.Logger, retry: s.retry(s.Resumes)}
	var resumes []engine.Resume
	var of []events.SQSMessage
	for _, message := range event.Records {
		resume, err := s.Queue.DecodeResume(ctx, message.Body)
		if err != nil {
			b.ends(ctx, message, err, nil)
			continue
		}
		resumes, of = append(resumes, resume), append(of, message)
	}
	for i, err := range s.Engine.Activate(ctx, deadline(ctx), resumes) {
		b.ends(ctx, of[i], err, s.resumeAnew(resumes[i]))
	}
	return b.response(), nil
}

// HandleTasks is functions/task.
func (s *System) HandleTasks(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	b := &batch{logger: s.Logger, retry: s.retry(s.Tasks)}
	together(event.Records, func(message events.SQSMessage) {
		task, err := s.Queue.DecodeTask(ctx, message.Body)
		if err != nil {
			b.ends(ctx, message, err, nil)
			return
		}
		b.ends(ctx, message, s.Engine.Task(ctx, deadline(ctx), task), s.taskAnew(task))
	})
	return b.response(), nil
}

func (s *System) resumeAnew(resume engine.Resume) func(context.Context, time.Duration) error {
	return func(ctx context.Context, delay time.Duration) error {
		resume.Delay = delay
		return s.Queue.SendResumes(ctx, resume)
	}
}

func (s *System) taskAnew(task engine.Task) func(context.Context, time.Duration) error {
	return func(ctx context.Context, delay time.Duration) error {
		task.Delay = delay
		return s.Queue.SendTasks(ctx, task)
	}
}

// HandleDead is functions/deadletter: it takes from the dead letter queues of both. What nobody can read goes to the queue
// behind them, where it is kept, and an alarm is raised.
func (s *System) HandleDead(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	b := &batch{logger: s.Logger}
	together(event.Records, func(message events.SQSMessage) { b.ends(ctx, message, s.bury(ctx, message.Body), nil) })
	return b.response(), nil
}

// bury does what follows from a message that was received too often.
func (s *System) bury(ctx context.Context, body string) error {
	task, noTask := s.Queue.DecodeTask(ctx, body)
	if noTask == nil {
		return s.Engine.DeadTask(ctx, task)
	}
	resume, noResume := s.Queue.DecodeResume(ctx, body)
	if noResume == nil {
		return s.Engine.DeadResume(ctx, resume)
	}
	why := errors.Join(noTask, noResume)
	if errors.Is(why, engine.ErrUnavailable) {
		return why
	}
	s.Logger.ErrorContext(ctx, "a message that nobody can read is kept in the queue of the dead", "error", why)
	return s.Queue.Bury(ctx, body)
}
