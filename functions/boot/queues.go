package boot

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reprise-run/reprise/core/port"
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
	var resumes []port.Resume
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
	var mu sync.Mutex
	tasks := map[string]port.Task{} // by the id of their message
	together(event.Records, func(message events.SQSMessage) {
		task, err := s.Queue.DecodeTask(ctx, message.Body)
		if err != nil {
			b.ends(ctx, message, err, nil)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		tasks[message.MessageId] = task
	})
	hold := visibility(tasks, deadline(ctx))
	together(event.Records, func(message events.SQSMessage) {
		task, ok := tasks[message.MessageId]
		if !ok {
			return
		}
		held := s.hold(ctx, message, hold)
		err := s.Engine.Task(ctx, deadline(ctx), task)
		<-held // it must not undo what follows from a failure
		b.ends(ctx, message, err, s.taskAnew(task))
	})
	return b.response(), nil
}

// answering is what a function may need to file an attempt's answer once the attempt is over.
const answering = 15 * time.Second

// visibility is until when the messages of an invocation may be hidden: the longest of its attempts
// is over then, and answered. Lambda deletes all of them together, when the invocation ends. Zero:
// the attempts have no limit, and nor has the invocation.
func visibility(tasks map[string]port.Task, deadline time.Time) (hold time.Duration) {
	for _, task := range tasks { // order-insensitive: the longest counts
		limit := task.Limit()
		if !deadline.IsZero() && (limit == 0 || time.Until(deadline) < limit) {
			limit = time.Until(deadline)
		}
		if limit == 0 {
			return 0
		}
		hold = max(hold, limit+answering)
	}
	return hold
}

// hold has a message come again soon after its attempt's own timeout, should this function die with
// it. Without it, the message comes again after the queue's visibility timeout, which is made for
// the longest of all attempts. The channel closes when the queue has answered.
func (s *System) hold(ctx context.Context, message events.SQSMessage, d time.Duration) <-chan struct{} {
	held := make(chan struct{})
	if d == 0 {
		close(held)
		return held
	}
	go func() {
		defer close(held)
		if err := s.Queue.Hold(ctx, s.Tasks, message.ReceiptHandle, d); err != nil {
			s.Logger.WarnContext(ctx, "a task comes again only after its queue's visibility timeout, if its function dies",
				"message", message.MessageId, "error", err)
		}
	}()
	return held
}

func (s *System) resumeAnew(resume port.Resume) func(context.Context, time.Duration) error {
	return func(ctx context.Context, delay time.Duration) error {
		resume.Delay = delay
		return s.Queue.SendResumes(ctx, resume)
	}
}

func (s *System) taskAnew(task port.Task) func(context.Context, time.Duration) error {
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
	if errors.Is(why, port.ErrUnavailable) {
		return why
	}
	s.Logger.ErrorContext(ctx, "a message that nobody can read is kept in the queue of the dead", "error", why)
	return s.Queue.Bury(ctx, body)
}
