// Package local is the whole system in one process: the engine over a store on disk and queues in memory. Log and inbox are
// enough to bring everything back, so that is all that is on disk.
package local

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/system"
)

// Store is what a node keeps its runs in.
type Store interface {
	port.Runs
	port.Directory
	port.Due
	port.Tasks
	port.Catalog
	port.Workers
	// DeleteClosed deletes runs that ended before a time, a batch at a time, and says how many.
	DeleteClosed(ctx context.Context, before time.Time, limit int) (int, error)
	// Writable says why the store cannot be written to: because the disk is full, for example. Nil: it can.
	Writable() error
	io.Closer
}

// Config of a node.
type Config struct {
	Definitions []workflow.Definition
	// Interpreters of published definitions, by kind. None: nothing is published here.
	Interpreters map[string]engine.Interpreter
	// Performers, AllowWorker and WorkerTTL: see [engine.Config].
	Performers  map[string]engine.Performer
	AllowWorker func(ctx context.Context, url string) error
	WorkerTTL   time.Duration
	Store       Store
	Logger      *slog.Logger
	Version     string
	Worker      string
	TokenKey    []byte
	// ReplayEach is for development: see [engine.Config].
	ReplayEach bool
	// DataFolder is what activities are told: see activity.Info. Empty: they are told none.
	DataFolder string
	// Visits and Activities are how many runs may be looked at, and how many activities executed, at one time. Zero: 10,000
	// and 1,000.
	Visits, Activities int
	// LiveRuns is how many runs are kept in memory between activations. Zero: 1,000. Of the others, few at a time are replayed
	// from their logs: see [engine.Config].
	LiveRuns int
	// EvictAfter is how long a run that waits is kept in memory, and twice as long at most. Zero: 5
	// minutes.
	EvictAfter time.Duration
	// Memory is the budget of bytes that live runs share with others: see [engine.Config]. Nil: no
	// limit.
	Memory *memory.Budget
	// Retention is how long ended runs are kept, and a tenth of that longer at most, but no more than an hour. Zero: [Retention].
	// Negative: for ever. The logs of generations whose run goes on are kept up to three times as long: see [engine.Config].
	Retention time.Duration
	// StuckAfter is how long workflow code may keep its turn. Zero: 5 s. Negative: for ever.
	StuckAfter time.Duration
}

// Retention is how long ended runs are kept where nobody says.
const Retention = 30 * 24 * time.Hour

// Node is a running engine.
type Node struct {
	*engine.Engine
	config Config
	queue  *queue
	stop   context.CancelFunc
	chores sync.WaitGroup
	// Rebuilt says what was found unfinished at the start.
	Rebuilt engine.Rebuilt
}

// Start brings back what was under way when the last process on this store ended, and goes on with it. It closes the store
// if it fails.
func Start(ctx context.Context, config Config) (*Node, error) {
	config = config.withDefaults()
	n := &Node{config: config, queue: newQueue(system.Clock{}, config.Visits, config.Activities,
		config.Memory)}
	store := config.Store
	var err error
	ports := port.Ports{Runs: store, Directory: store, Due: store, Tasks: store, Workers: store,
		Queue: n.queue, Clock: system.Clock{},
		Authors:  system.NewProcess(system.NewID()[:8]),
		NewID:    system.NewID,
		Together: true,
		Forget:   n.forget}
	if len(config.Interpreters) > 0 {
		ports.Catalog = store
	}
	n.Engine, err = engine.New(ports,
		engine.Config{Definitions: config.Definitions, Interpreters: config.Interpreters,
			Version: config.Version, Worker: config.Worker, Logger: config.Logger,
			TokenKey:    config.TokenKey,
			DataFolder:  config.DataFolder,
			ReplayEach:  config.ReplayEach,
			LiveRuns:    config.LiveRuns,
			Memory:      config.Memory,
			Retention:   config.Retention,
			StuckAfter:  config.StuckAfter,
			Performers:  config.Performers,
			AllowWorker: config.AllowWorker, WorkerTTL: config.WorkerTTL})
	if err == nil {
		n.Rebuilt, err = n.Rebuild(ctx)
	}
	if err != nil {
		n.queue.close()
		store.Close()
		return nil, err
	}
	n.queue.open(handlers{resume: n.resume, task: n.task, deadResume: n.DeadResume, deadTask: n.DeadTask, failed: n.failed})
	background, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.chores.Go(func() { n.every(background, time.Minute, n.fireDue) })
	n.chores.Go(func() {
		n.every(background, config.EvictAfter, func(context.Context) { n.EvictUnused() })
	})
	if config.Retention > 0 {
		n.chores.Go(func() { n.every(background, min(config.Retention/10, time.Hour), n.retain) })
	}
	return n, nil
}

func (c Config) withDefaults() Config {
	if c.Visits == 0 {
		c.Visits = 10_000
	}
	if c.Activities == 0 {
		c.Activities = 1000
	}
	if c.Retention == 0 {
		c.Retention = Retention
	}
	if c.EvictAfter == 0 {
		c.EvictAfter = 5 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Close stops everything: what is under way is taken up again at the next start. It waits for activities to return, which
// are asked to.
func (n *Node) Close() error {
	n.stop()
	n.chores.Wait()
	n.queue.close()
	n.Engine.Close()
	return n.config.Store.Close()
}

// Writable says why the store cannot be written to; nil: it can.
func (n *Node) Writable(context.Context) error { return n.config.Store.Writable() }

// Backlog is how many messages are ready and not yet handled, how many wait for their time, and how
// many are being handled.
func (n *Node) Backlog() (ready, delayed, inFlight int) { return n.queue.backlog() }

// Backup copies the store while it is in use, if it is one that can: see [sqlite.Store.Backup].
func (n *Node) Backup(ctx context.Context) (*os.File, error) {
	store, ok := n.config.Store.(interface {
		Backup(ctx context.Context) (*os.File, error)
	})
	if !ok {
		return nil, errors.New("this server keeps its runs in memory, not in a file")
	}
	return store.Backup(ctx)
}

func (n *Node) resume(ctx context.Context, message port.Resume) error {
	return n.Activate(ctx, time.Time{}, []port.Resume{message})[0]
}

func (n *Node) task(ctx context.Context, message port.Task) error {
	return n.Task(ctx, time.Time{}, message)
}

// forget takes timers back, wherever they are: a message that is delayed, or, with more than 15 minutes to go, an item of the
// store. A server whose runs guard themselves by time limits would else remember each until it is over.
func (n *Node) forget(timers []port.DueTimer) {
	if stored := n.queue.forget(timers); len(stored) > 0 {
		if err := n.config.Store.DeleteDue(context.Background(), stored); err != nil {
			n.config.Logger.Warn("timers that nobody waits for were not deleted", "error", err)
		}
	}
}

func (n *Node) failed(what string, received int, err error) {
	n.config.Logger.Warn("a message comes again", "message", what, "received", received, "error", err)
}

// every does a chore now, and then again and again.
func (n *Node) every(ctx context.Context, interval time.Duration, chore func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		chore(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// fireDue is what functions/timer does in the deployed system.
func (n *Node) fireDue(ctx context.Context) {
	if _, err := n.FireDue(ctx); err != nil && ctx.Err() == nil {
		n.config.Logger.Warn("long timers were not looked at", "error", err)
	}
}

// retain deletes runs that ended long ago.
func (n *Node) retain(ctx context.Context) {
	const batch = 100
	for ctx.Err() == nil {
		deleted, err := n.config.Store.DeleteClosed(ctx, time.Now().Add(-n.config.Retention), batch)
		if err != nil && ctx.Err() == nil {
			n.config.Logger.Warn("ended runs were not deleted", "error", err)
		}
		if err != nil || deleted < batch {
			return
		}
	}
}
