// Package httpexec performs the activities http:SERVICE, which are calls of services that
// registered workers offer over HTTP.
//
// A call is POST URL/exec/SERVICE with {"input": …, "params": …}. A worker answers with {"result":
// …}, or with {"error": "…"}. Only the body counts, not the status. An answer that is not such an
// object counts as a failed request: the next worker is tried.
package httpexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/system"
)

// Prefix of the activities that the executor performs: see engine.Config.Performers.
const Prefix = "http"

// Config of an executor.
type Config struct {
	Workers port.Workers
	Clock   port.Clock
	// Allow is the list of targets that may be called.
	Allow *Allow
	// TTL is how long a worker gets calls after its last heartbeat. Zero: [port.WorkerTTL].
	TTL time.Duration
	// Timeout is how long one request may take, unless the call says otherwise. Zero: 10 s.
	Timeout time.Duration
	// LongestAnswer is how many bytes a worker's answer may have. Zero: 16 MB.
	LongestAnswer int64
	// Remember is how long a list of workers is used before it is read again. A call that they all
	// failed reads it anew. Zero: each call reads it.
	Remember time.Duration
	// Memory is the budget of bytes that calls share with live runs and requests. A call waits for
	// the room that its input and its answer need. Nil: no limit.
	Memory *memory.Budget
	Logger *slog.Logger
}

// Executor calls workers. It is safe for concurrent use.
type Executor struct {
	config Config
	client *http.Client
	room   *room
	mu     sync.Mutex
	busy   map[string]int64 // by URL: calls of this process that are running
	list   []*port.Worker   // all that were online when they were listed
	listed time.Time
}

// New makes an executor.
func New(config Config) *Executor {
	if config.Allow == nil {
		config.Allow = &Allow{}
	}
	if config.TTL == 0 {
		config.TTL = port.WorkerTTL
	}
	if config.Timeout == 0 {
		config.Timeout = 10 * time.Second
	}
	if config.LongestAnswer == 0 {
		config.LongestAnswer = 16 << 20
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Executor{config: config, client: newClient(config.Allow), room: newRoom(config.Memory), busy: map[string]int64{}}
}

// Close ends idle connections.
func (e *Executor) Close() { e.client.CloseIdleConnections() }

// Perform is an engine.Performer. It tries each worker of the service once at most, until one
// succeeds. The result is a [flow.Answer], which lists the tries.
func (e *Executor) Perform(ctx context.Context, work engine.Work) (history.Payload, error) {
	held, err := e.hold(ctx, work.Input)
	if err != nil {
		return nil, err
	}
	defer held.release()
	call, err := history.Decode[flow.Call](work.Input)
	if err != nil {
		return nil, activity.NonRetryable(fmt.Errorf(
			"the input of a call of service %q must have the members input and params: %w", work.Name, err))
	}
	answer, err := e.call(ctx, held, work, call)
	if err != nil {
		return nil, err
	}
	return history.Encode(answer)
}

// hold claims memory for an input.
func (e *Executor) hold(ctx context.Context, input history.Payload) (*claim, error) {
	held := &claim{room: e.room}
	if n := len(input); n > freeBytes {
		if err := held.grow(ctx, copiesOfInput*int64(n)); err != nil {
			held.release()
			return nil, err
		}
	}
	return held, nil
}

// call makes a call of the service that the work names.
func (e *Executor) call(
	ctx context.Context, held *claim, work engine.Work, call flow.Call,
) (flow.Answer, error) {
	if call.TimeoutMS > 0 {
		work.Timeout = time.Duration(call.TimeoutMS) * time.Millisecond
	}
	workers, err := e.workers(ctx, work.Name, call.WeightedByLoad, false)
	if err != nil {
		return flow.Answer{}, err
	}
	if len(workers) == 0 {
		return flow.Answer{Error: "no worker"}, nil
	}
	body, err := history.Marshal(request{Input: orNull(call.Input), Params: orNull(call.Params)})
	if err != nil {
		return flow.Answer{}, activity.NonRetryable(err)
	}
	return e.try(ctx, held, work, call, workers, body)
}

// PerformTask is an engine.Performer of the activities task:NAME, which scripts call: the service NAME
// gets the input. The result is the worker's. Its error fails the attempt.
func (e *Executor) PerformTask(ctx context.Context, work engine.Work) (history.Payload, error) {
	held, err := e.hold(ctx, work.Input)
	if err != nil {
		return nil, err
	}
	defer held.release()
	answer, err := e.call(ctx, held, work,
		flow.Call{Input: json.RawMessage(work.Input), Params: json.RawMessage("{}")})
	if err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errWorker(answer.Error)
	}
	return history.Payload(orNull(answer.Result)), nil
}

// Performers are those of the activities that workers perform, by prefix.
func (e *Executor) Performers() map[string]engine.Performer {
	return map[string]engine.Performer{Prefix: e.Perform, engine.Task: e.PerformTask}
}

// errWorker is an error that a worker answered with.
type errWorker string

func (e errWorker) Error() string { return string(e) }

// try asks the workers in turn. If no worker answers, it also asks those that registered since the
// list of workers was read. Its error is that the attempt is over.
func (e *Executor) try(
	ctx context.Context, held *claim, work engine.Work, call flow.Call, workers []*port.Worker,
	body []byte,
) (flow.Answer, error) {
	answer, reported := flow.Answer{}, false
	for i := 0; ; i++ {
		if i == len(workers) && !reported {
			arrived, err := e.arrived(ctx, work.Name, call.WeightedByLoad, workers)
			if err != nil {
				return answer, err
			}
			workers = append(workers, arrived...)
		}
		if i == len(workers) {
			return answer, nil
		}
		worker := workers[i]
		if i > 0 && !system.Pause(ctx, time.Duration(call.AttemptDelayMS)*time.Millisecond) {
			return answer, ctx.Err()
		}
		try := flow.Try{WorkerID: worker.ID, WorkerURL: worker.URL,
			Started: e.config.Clock.Now().UTC()}
		before := held.bytes
		result, err := e.ask(ctx, held, work, worker, body)
		if ctx.Err() != nil {
			return answer, ctx.Err()
		}
		try.Finished = e.config.Clock.Now().UTC()
		if err == nil {
			answer.Result, answer.Error, answer.Tries = result, "", append(answer.Tries, try)
			return answer, nil
		}
		held.shrink(before)
		try.Error = shorten(err.Error())
		answer.Tries = append(answer.Tries, try)
		e.config.Logger.WarnContext(ctx, "a worker failed a call", "service", work.Name,
			"worker", worker.ID,
			"url", worker.URL, "error", try.Error)
		if text := errWorker(""); errors.As(err, &text) {
			answer.Error, reported = string(text), true
			if call.MaxAttempts > 0 && len(answer.Tries) >= call.MaxAttempts {
				return answer, nil
			}
		} else if !reported {
			answer.Error = "all workers failed: " + try.Error
		}
	}
}

// workers are those of a service that are online, in the order in which they are tried. anew: the
// list that is remembered does not count.
func (e *Executor) workers(
	ctx context.Context, service string, byLoad, anew bool,
) ([]*port.Worker, error) {
	found, recent := e.remembered(service)
	if anew || !recent || len(found) == 0 {
		online, err := e.read(ctx)
		if err != nil && len(found) == 0 {
			return nil, fmt.Errorf("the workers of service %q were not listed: %w", service, err)
		}
		if err == nil { // else an old list is better than none
			found = offering(online, service)
		}
	}
	if byLoad {
		found = e.byLoad(found)
	}
	return found, nil
}

// arrived are the workers of a service that are not among those that were asked. Where lists are
// not remembered, there are none.
func (e *Executor) arrived(
	ctx context.Context, service string, byLoad bool, asked []*port.Worker,
) ([]*port.Worker, error) {
	if e.config.Remember == 0 {
		return nil, nil
	}
	found, err := e.workers(ctx, service, byLoad, true)
	return slices.DeleteFunc(found, func(w *port.Worker) bool {
		return slices.ContainsFunc(asked, func(a *port.Worker) bool { return a.URL == w.URL })
	}), err
}

// read lists the workers of all services, and remembers them: one list serves all calls.
func (e *Executor) read(ctx context.Context) ([]*port.Worker, error) {
	now := e.config.Clock.Now()
	online, err := e.config.Workers.ListWorkers(ctx,
		port.WorkerQuery{Since: now.Add(-e.config.TTL)})
	if err == nil && e.config.Remember > 0 {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.list, e.listed = online, now
	}
	return online, err
}

// remembered are the workers of a service in the list that was read last, and whether the list is
// recent.
func (e *Executor) remembered(service string) (found []*port.Worker, recent bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return offering(e.list, service), e.config.Clock.Now().Sub(e.listed) < e.config.Remember
}

func offering(workers []*port.Worker, service string) (found []*port.Worker) {
	for _, w := range workers {
		if slices.Contains(w.Services, service) {
			found = append(found, w)
		}
	}
	return found
}

// byLoad puts the worker with the least load first. A load is as old as the heartbeat that told it:
// a worker's load is at least the number of calls that run here.
func (e *Executor) byLoad(workers []*port.Worker) []*port.Worker {
	e.mu.Lock()
	defer e.mu.Unlock()
	load := func(w *port.Worker) int64 { return max(w.Load, e.busy[w.URL]) }
	sorted := slices.Clone(workers)
	slices.SortStableFunc(sorted, func(a, b *port.Worker) int {
		return int(min(1, max(-1, load(a)-load(b))))
	})
	return sorted
}

// occupy counts a call of a worker until it ends.
func (e *Executor) occupy(url string) (end func()) {
	add := func(n int64) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.busy[url] += n; e.busy[url] == 0 {
			delete(e.busy, url)
		}
	}
	add(1)
	return func() { add(-1) }
}
