package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// longestService leaves room for the prefix of the activity that a call of a service is.
const longestService = port.LongestName - len("http:")

// RegisterWorker adds a worker that offers services over HTTP, or replaces the one that has its
// URL. Registering counts as a heartbeat. A URL that the system must not call is [port.Invalid].
func (e *Engine) RegisterWorker(ctx context.Context, worker port.Worker) (*port.Worker, error) {
	if e.Workers == nil {
		return nil, port.Errorf(port.Conflict, "this system has no registry of workers")
	}
	worker.URL = strings.TrimRight(worker.URL, "/")
	if err := e.validWorker(ctx, worker); err != nil {
		return nil, err
	}
	if err := e.makeRoom(ctx, worker.URL); err != nil {
		return nil, e.unavailable(err, "the worker was not registered")
	}
	worker.Heartbeat = e.Clock.Now().UTC()
	worker.Registered = worker.Heartbeat
	return &worker, e.unavailable(e.Workers.PutWorker(ctx, &worker),
		"the worker was not registered")
}

func (e *Engine) validWorker(ctx context.Context, worker port.Worker) error {
	if worker.ID == "" {
		return port.Errorf(port.Invalid,
			"the worker's id is missing: give each process another one")
	}
	if worker.URL == "" {
		return port.Errorf(port.Invalid, "the worker's URL is missing: give one such as "+
			"http://host:9000")
	}
	if err := validName("worker", worker.ID); err != nil {
		return err
	}
	switch n := len(worker.Services); {
	case n == 0:
		return port.Errorf(port.Invalid, "the worker offers no service: name one at least")
	case n > port.MostServices:
		return port.Errorf(port.TooLarge, "the worker offers %d services, the limit is %d", n,
			port.MostServices)
	case worker.Load < 0:
		return port.Errorf(port.Invalid, "load %d: a load is 0 or more", worker.Load)
	}
	for _, service := range worker.Services {
		if err := validName("service", service); err != nil {
			return err
		}
		if service == "." || service == ".." {
			return port.Errorf(port.Invalid, "service %q: in a URL the name means another place",
				service)
		}
		if len(service) > longestService {
			return port.Errorf(port.TooLarge, "service %q: the name has %d bytes, the limit is %d",
				service,
				len(service), longestService)
		}
	}
	if n := len(worker.URL); n > port.LongestWorkerURL {
		return port.Errorf(port.TooLarge, "the URL has %d bytes, the limit is %d", n,
			port.LongestWorkerURL)
	}
	if e.config.AllowWorker == nil {
		return port.Errorf(port.Invalid, "worker URL %q is not allowed: this system calls no "+
			"workers", worker.URL)
	}
	if err := e.config.AllowWorker(ctx, worker.URL); err != nil {
		return port.Wrapf(err, port.Invalid, "%v", err)
	}
	return nil
}

// makeRoom keeps the number of workers within [port.MostWorkers]: the worker that was offline
// longest gives its place to one with a new URL.
func (e *Engine) makeRoom(ctx context.Context, url string) error {
	all, err := e.Workers.ListWorkers(ctx, port.WorkerQuery{})
	if err != nil || len(all) < port.MostWorkers ||
		slices.ContainsFunc(all, func(w *port.Worker) bool { return w.URL == url }) {
		return err
	}
	oldest := slices.MinFunc(all, func(a, b *port.Worker) int {
		return a.Heartbeat.Compare(b.Heartbeat)
	})
	if e.online(oldest) {
		return port.Errorf(port.TooLarge,
			"%d workers are registered and online, which is the limit",
			len(all))
	}
	return e.Workers.DeleteWorker(ctx, oldest.URL)
}

// BeatWorker stores a worker's heartbeat: it is online, with this load. The worker is the one that
// has the URL, else the one that has the id. One that is not registered is not known, which is no
// error.
func (e *Engine) BeatWorker(
	ctx context.Context, id, url string, load int64,
) (known bool, err error) {
	if load < 0 {
		return false, port.Errorf(port.Invalid, "load %d: a load is 0 or more", load)
	}
	if e.Workers == nil {
		return false, nil
	}
	url, now := strings.TrimRight(url, "/"), e.Clock.Now().UTC()
	if url != "" && len(url) <= port.LongestWorkerURL {
		known, err = e.Workers.BeatWorker(ctx, url, load, now)
	}
	if err == nil && !known && id != "" {
		known, err = e.beatByID(ctx, id, load, now)
	}
	return known, e.unavailable(err, "the heartbeat was not stored")
}

func (e *Engine) beatByID(ctx context.Context, id string, load int64, now time.Time) (bool, error) {
	all, err := e.Workers.ListWorkers(ctx, port.WorkerQuery{})
	if err != nil {
		return false, err
	}
	for _, worker := range slices.Backward(all) { // the latest registration
		if worker.ID == id {
			return e.Workers.BeatWorker(ctx, worker.URL, load, now)
		}
	}
	return false, nil
}

// OfferedWorker is a registered worker, and whether it is online.
type OfferedWorker struct {
	*port.Worker
	// Online: its last heartbeat is recent enough for it to get calls.
	Online bool
}

// ListWorkers gives the workers that offer a service, or all where the service is "", in the order
// of registration. A positive within leaves out those without a heartbeat for so long.
func (e *Engine) ListWorkers(
	ctx context.Context, service string, within time.Duration,
) ([]OfferedWorker, error) {
	if e.Workers == nil {
		return nil, nil
	}
	query := port.WorkerQuery{Service: service}
	if within > 0 {
		query.Since = e.Clock.Now().Add(-within)
	}
	found, err := e.Workers.ListWorkers(ctx, query)
	var all []OfferedWorker
	for _, worker := range found {
		all = append(all, OfferedWorker{worker, e.online(worker)})
	}
	return all, e.unavailable(err, "the workers were not listed")
}

// AllocateWorker gives the worker of a service that is online and has the least load.
// [port.NotFound] if there is none.
func (e *Engine) AllocateWorker(ctx context.Context, service string) (*port.Worker, error) {
	fresh, err := e.ListWorkers(ctx, service, e.config.WorkerTTL)
	if err != nil {
		return nil, err
	}
	if len(fresh) == 0 {
		return nil, port.Errorf(port.NotFound, "no worker")
	}
	return slices.MinFunc(fresh, func(a, b OfferedWorker) int {
		return cmp.Compare(a.Load, b.Load)
	}).Worker, nil
}

// RemoveWorker deletes the worker that has a URL. [port.NotFound] if there is none. A worker that
// runs is unknown from then on, until it registers again.
func (e *Engine) RemoveWorker(ctx context.Context, url string) error {
	url = strings.TrimRight(url, "/")
	all, err := e.ListWorkers(ctx, "", 0)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(w OfferedWorker) bool { return w.URL == url }) {
		return port.Errorf(port.NotFound, "no worker with the URL %q is registered", url)
	}
	return e.unavailable(e.Workers.DeleteWorker(ctx, url), "the worker was not removed")
}

func (e *Engine) online(worker *port.Worker) bool {
	return e.Clock.Now().Sub(worker.Heartbeat) <= e.config.WorkerTTL
}
