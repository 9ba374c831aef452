package port

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Workers keeps the processes that offer services over HTTP. All reads are strongly consistent.
type Workers interface {
	// PutWorker adds a worker, or replaces the one that has its URL. The replaced one leaves its
	// time of registration, and so its place in the order.
	PutWorker(ctx context.Context, worker *Worker) error
	// BeatWorker stores the load and the time of a heartbeat, and says whether a worker has the
	// URL.
	BeatWorker(ctx context.Context, url string, load int64, at time.Time) (known bool, err error)
	// ListWorkers gives the workers that a query is about, in the order of registration.
	ListWorkers(ctx context.Context, query WorkerQuery) ([]*Worker, error)
	// DeleteWorker deletes the worker that has the URL. One that is not there is no error.
	DeleteWorker(ctx context.Context, url string) error
}

// Worker is a process that performs services over HTTP, at URL/exec/SERVICE.
type Worker struct {
	// ID names the process. A process that starts again has another one.
	ID string `json:"id"`
	// URL has no slash at its end. Each worker has its own.
	URL      string   `json:"url"`
	Services []string `json:"services"`
	// Load is what the worker said last: how many calls it performs, as a rule.
	Load int64 `json:"load"`
	// Heartbeat is when the worker was last heard of, by the clock of the system.
	Heartbeat time.Time `json:"heartbeat"`
	// Registered is when a worker with this URL first came.
	Registered time.Time `json:"registered"`
}

// WorkerTTL is how long a worker is online after its last heartbeat, unless the system says
// otherwise.
const WorkerTTL = 15 * time.Second

// Limits of the registry of workers.
const (
	MostWorkers      = 1000
	MostServices     = 100 // of one worker
	LongestWorkerURL = 500 // bytes
)

// WorkerQuery chooses workers.
type WorkerQuery struct {
	// Service that they offer. Empty: any.
	Service string
	// Since is when they were last heard of at the earliest. Zero: at any time.
	Since time.Time
}

// Fits says whether a query is about a worker.
func (q WorkerQuery) Fits(w *Worker) bool {
	return (q.Service == "" || slices.Contains(w.Services, q.Service)) &&
		!w.Heartbeat.Before(q.Since)
}

// SortWorkers puts workers in the order of registration.
func SortWorkers(all []*Worker) {
	slices.SortFunc(all, func(a, b *Worker) int {
		return cmp.Or(a.Registered.Compare(b.Registered), cmp.Compare(a.URL, b.URL))
	})
}
