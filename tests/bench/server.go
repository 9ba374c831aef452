package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/wire"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
	"github.com/reprise-run/reprise/infra/system"
	"github.com/reprise-run/reprise/tests/gauge"
)

// The server's process. Its parent talks to it by JSON over its standard input and output: one request, one answer. It ends
// when its input does, so that it never outlives its parent.

// request of the parent's. Exactly one field is set.
type request struct {
	Usage  bool  `json:"usage,omitempty"`  // how much was used so far?
	Settle bool  `json:"settle,omitempty"` // the same, once garbage is collected and given back
	Load   *load `json:"load,omitempty"`   // put this load on yourself
	Mail   int   `json:"mail,omitempty"`   // send yourself so many signals and updates
	Take   bool  `json:"take,omitempty"`   // give the marks, and forget them
	Mark   *int  `json:"mark,omitempty"`   // wait for this mark
	Open   bool  `json:"open,omitempty"`   // open the gate
	Calls  bool  `json:"calls,omitempty"`  // give the times between the calls of each run, and forget them
	Rest   bool  `json:"rest,omitempty"`   // wait until nothing is at work
}

type answer struct {
	Error   string        `json:"error,omitempty"`
	Address string        `json:"address,omitempty"` // of the API; in the first answer, which no request asks for
	Usage   usage         `json:"usage"`
	Took    took          `json:"took"`
	Mail    mailLatencies `json:"mail"`
	Marks   []int64       `json:"marks,omitempty"`
	Between []int64       `json:"between,omitempty"` // nanoseconds
}

// usage so far.
type usage struct {
	gauge.Process
	Commits int64 `json:"commits"`
	Flushes int64 `json:"flushes"`
	// Heap is what is live in it, goroutines' stacks included, in bytes; only after settling.
	Heap int64 `json:"heap,omitempty"`
	Live int   `json:"live"` // runs in memory
}

type server struct {
	context.Context
	store *sqlite.Store
	node  *local.Node
}

// serve is the whole life of the server's process.
func serve(ctx context.Context, folder, profiles string) (err error) {
	if profiles != "" {
		end, err := profileTo(profiles)
		if err != nil {
			return err
		}
		defer end()
	}
	local.Collect(system.Memory(), true) // as reprise dev does
	s := &server{Context: ctx}
	if s.store, err = sqlite.Open(folder, sqlite.Options{}); err != nil {
		return err
	}
	if s.node, err = s.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.node.Close()) }()
	handler, err := api.New(api.Config{Engine: s.node.Engine, Backlog: s.node.Backlog})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- handler.Serve(serving, listener) }()
	err = s.converse(listener.Addr().String(), os.Stdin, os.Stdout)
	stop()
	return errors.Join(err, <-served)
}

// start starts the engine. Runs that wait leave the memory soon, so that it can be seen.
func (s *server) start(ctx context.Context) (*local.Node, error) {
	allow, err := httpexec.ParseAllow([]string{httpexec.Loopback})
	if err != nil {
		return nil, err
	}
	calls := httpexec.New(httpexec.Config{Workers: s.store, Clock: system.Clock{}, Allow: allow})
	return local.Start(ctx, local.Config{Store: s.store, Definitions: definitions,
		Interpreters: frontend.Interpreters(), AllowWorker: allow.Check, EvictAfter: evictAfter,
		Performers: calls.Performers()})
}

// profileTo writes profiles from now until the end.
func profileTo(prefix string) (end func(), err error) {
	cpu, err := os.Create(prefix + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	heap, err := os.Create(prefix + ".heap.pprof")
	if err != nil {
		return nil, errors.Join(err, cpu.Close())
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(err, cpu.Close(), heap.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := errors.Join(pprof.WriteHeapProfile(heap), cpu.Close(), heap.Close()); err != nil {
			fmt.Fprintln(os.Stderr, "bench: a profile was not written:", err)
		}
	}, nil
}

func (s *server) converse(address string, in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	if err := answers.Encode(answer{Address: "http://" + address}); err != nil {
		return err
	}
	for {
		var asked request
		if err := requests.Decode(&asked); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		given, err := s.do(asked)
		if err != nil {
			given.Error = err.Error()
		}
		if err := answers.Encode(given); err != nil {
			return err
		}
	}
}

func (s *server) do(asked request) (given answer, err error) {
	switch {
	case asked.Usage, asked.Settle:
		given.Usage = s.usage(asked.Settle)
	case asked.Load != nil:
		given.Took, err = asked.Load.through(s, s.door())
	case asked.Mail > 0:
		given.Mail, err = measureMail(s, s.door(), asked.Mail)
	case asked.Take:
		given.Marks = marks.take()
	case asked.Mark != nil:
		given.Marks = make([]int64, 1)
		given.Marks[0], err = seen(*asked.Mark)
	case asked.Open:
		close(gate)
	case asked.Calls:
		given.Between = called.take()
	case asked.Rest:
		err = s.rest()
	}
	return given, err
}

func (s *server) usage(settle bool) usage {
	u := usage{Commits: s.store.Commits(), Flushes: s.store.Flushes(), Live: s.node.LiveRuns()}
	if settle {
		runtime.GC() // twice: what has finalizers goes with the second
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		u.Heap = int64(m.HeapAlloc + m.StackInuse)
	}
	u.Process = gauge.ProcessOf(os.Getpid())
	return u
}

// rest waits until no message is ready or being handled.
func (s *server) rest() error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ready, _, inFlight := s.node.Backlog(); ready+inFlight == 0 {
			return nil
		}
	}
	return fmt.Errorf("the server was at work for more than %s", patience)
}

// patience is how long a mark may take to come.
const patience = 5 * time.Minute

func seen(index int) (int64, error) {
	at := marks.at(index, patience)
	if at == 0 {
		return 0, fmt.Errorf("mark %d did not come within %s", index, patience)
	}
	return at, nil
}

// seenAs is a run as a client sees it, as far as the workloads look.
func seenAs(s *port.Summary) *wire.Summary {
	if s == nil {
		return nil
	}
	return &wire.Summary{Run: s.Run, Workflow: s.Workflow, Generation: s.Generation, Status: s.Status, Started: s.Started, Closed: s.Closed,
		Result: s.Result, Failure: s.Failure}
}

func (s *server) wait(ctx context.Context, run string) (*wire.Summary, error) {
	summary, err := s.node.Wait(ctx, run)
	return seenAs(summary), err
}

// door leads to the engine without HTTP.
func (s *server) door() door {
	begin := func(ctx context.Context, start engine.StartRequest) (*wire.Summary, error) {
		summary, _, err := s.node.Start(ctx, start)
		return seenAs(summary), err
	}
	return door{
		begin: begin, wait: s.wait, seen: seen,
		start: func(ctx context.Context, start engine.StartRequest) (*wire.Summary, error) {
			summary, err := begin(ctx, start)
			if err != nil {
				return nil, err
			}
			return s.wait(ctx, summary.Run)
		},
		signal: func(ctx context.Context, run string, input history.Payload) error {
			_, err := s.node.Signal(ctx, engine.MessageRequest{Run: run}, ping.Name(), input)
			return err
		},
		update: func(ctx context.Context, run string, input history.Payload) error {
			_, err := s.node.Update(ctx, engine.MessageRequest{Run: run}, echo.Name(), input)
			return err
		},
	}
}
