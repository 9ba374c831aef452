package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// patience is how long one thing may take that is begun while the load lasts: longer, and it counts as lost.
const patience = 5 * time.Minute

// load is all that is done to the server, and what came of it.
type load struct {
	client    *client.Client
	residents []*resident
	clients   sync.WaitGroup
	ended     atomic.Int64

	mu    sync.Mutex
	done  map[string]int // by kind
	wrong int
}

func newLoad(c *client.Client) *load { return &load{client: c, done: map[string]int{}} }

// run begins with the load, which lasts until the context ends.
func (l *load) run(ctx context.Context, times int) {
	for _, k := range kinds {
		for i := range k.clients * times {
			l.clients.Go(func() { l.loop(ctx, k, i) })
		}
	}
}

// loop is one client: it does one thing after the other, and ends the last one.
func (l *load) loop(ctx context.Context, k kind, client int) {
	for i := 0; ctx.Err() == nil; i++ {
		l.note(k.name, l.one(k, fmt.Sprintf("%s-%d-%d", k.name, client, i), i))
		if k.pause > 0 {
			pause(ctx, k.pause)
		}
	}
}

func (l *load) one(k kind, run string, i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := k.do(ctx, l, run, i); err != nil {
		return fmt.Errorf("%s: %w", run, err)
	}
	return nil
}

// note counts what was done, and prints what went wrong, if that is not too much.
func (l *load) note(kind string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[kind]++
	if err == nil {
		return
	}
	const most = 20
	if l.wrong++; l.wrong <= most {
		fmt.Fprintf(os.Stdout, "wrong, at %s: %v\n", time.Now().Format(time.TimeOnly), err)
	}
}

// wait waits until the clients have ended what they began, then ends the residents.
func (l *load) wait() {
	l.clients.Wait()
	l.leave()
}

// errors so far.
func (l *load) errors() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

// account says what was done.
func (l *load) account() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "%d runs ended as they should; what was done, by kind:\n", l.ended.Load())
	for _, kind := range slices.Sorted(maps.Keys(l.done)) {
		fmt.Fprintf(&text, "  %-12s %8d\n", kind, l.done[kind])
	}
	return text.String()
}

// verdict says whether all that was accepted came to what it should, once.
func (l *load) verdict() verdict {
	wrong := l.errors()
	return verdict{name: "results", good: wrong == 0, text: fmt.Sprintf("%d wrong, lost or doubled", wrong)}
}

// open counts the runs that have not ended.
func (l *load) open(ctx context.Context) (runs int, err error) {
	for _, err := range l.client.All(ctx, port.ListQuery{Status: history.Running}) {
		if err != nil {
			return runs, err
		}
		runs++
	}
	return runs, nil
}

// execute starts a run, and holds its result against the one that it must have.
func execute[I any, O comparable](ctx context.Context, l *load, workflow interface{ Name() string }, run string, input I, want O) error {
	payload, err := history.Encode(input)
	if err != nil {
		return err
	}
	started, err := l.client.StartAndWait(ctx, engine.StartRequest{Run: run, Workflow: workflow.Name(), Input: payload})
	if err != nil {
		return err
	}
	return check(l, started.Summary, want)
}

// check holds the end of a run against the result that it must have.
func check[O comparable](l *load, summary *wire.Summary, want O) error {
	if summary.Status != history.Completed {
		return other(summary, history.Completed)
	}
	got, err := history.Decode[O](summary.Result)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("it gave %s, not %s", brief(got), brief(want))
	}
	l.ended.Add(1)
	return nil
}

// other is the error of a run that did not end as it should.
func other(summary *wire.Summary, want history.Status) error {
	why := ""
	switch {
	case summary.Failure != nil:
		why = summary.Failure.Error()
	case summary.Blocked != nil:
		why = "blocked, " + summary.Blocked.Message
	}
	return fmt.Errorf("it is %s, not %s: %s", summary.Status, want, why)
}

func brief(value any) string {
	const most = 100
	text := fmt.Sprintf("%+v", value)
	return text[:min(len(text), most)]
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
