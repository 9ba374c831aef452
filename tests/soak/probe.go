package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/reprise-run/reprise/infra/api/client"
)

// Probes measure latency beside the load: each is begun at its time, whether those before it have ended or not, and its latency
// counts from that time. So a server that stands still for a second shows in all that should have begun meanwhile.

// probe is one sort of thing whose latency is measured.
type probe struct {
	name string
	// prepare makes all that comes before what is measured.
	prepare func(ctx context.Context, l *load, run string) (measured func() error, err error)
}

// pace is the time between two probes of one sort.
const pace = 100 * time.Millisecond

// ahead is how long before its time a probe is prepared.
const ahead = time.Second

var probes = []probe{
	{"start to end", prepareSmall},
	{"signal to effect", prepareSignal},
	{"update", prepareUpdate},
	{"query", prepareQuery},
}

func prepareSmall(ctx context.Context, l *load, run string) (func() error, error) {
	return func() error { return execute(ctx, l, small, run, 1, 0) }, nil
}

// prepareSignal has a run wait for a signal, and a caller for the run's end, which is the effect.
func prepareSignal(ctx context.Context, l *load, run string) (func() error, error) {
	if _, err := client.Start(ctx, l.client, awaiting, run, 0); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		summary, err := l.client.Wait(ctx, run)
		if err == nil {
			err = check(l, summary, 7)
		}
		ended <- err
	}()
	return func() error {
		if err := client.Signal(ctx, l.client, run, add, 7); err != nil {
			return err
		}
		return <-ended
	}, nil
}

func prepareUpdate(ctx context.Context, l *load, _ string) (func() error, error) {
	r := l.addressee()
	return func() error {
		if _, err := client.Update(ctx, l.client, r.run, addNow, 1); err != nil {
			return fmt.Errorf("%s: %w", r.run, err)
		}
		r.accepted(1)
		return nil
	}, nil
}

func prepareQuery(ctx context.Context, l *load, _ string) (func() error, error) {
	r := l.anyResident()
	return func() error {
		_, err := client.Query(ctx, l.client, r.run, total, struct{}{})
		return err
	}, nil
}

// meter gathers the latencies of one probe, and some of the runs that it has left behind.
type meter struct {
	probe
	mu        sync.Mutex
	latencies []int64 // nanoseconds, since they were last taken
	left      []left  // one a second at most, the oldest first
}

// left is a run that a probe has ended.
type left struct {
	run string
	at  time.Time
}

// beat begins one probe after the other until the context ends.
func (m *meter) beat(ctx context.Context, l *load) {
	first := time.Now().Add(ahead)
	for i := 0; ; i++ {
		at := first.Add(time.Duration(i) * pace)
		pause(ctx, time.Until(at.Add(-ahead)))
		if ctx.Err() != nil {
			return
		}
		l.clients.Go(func() { l.note("probe", m.measure(l, fmt.Sprintf("%s-%d", m.name, i), at)) })
	}
}

func (m *meter) measure(l *load, run string, at time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	measured, err := m.prepare(ctx, l, run)
	if err != nil {
		return fmt.Errorf("%s: %w", run, err)
	}
	pause(ctx, time.Until(at))
	if err := measured(); err != nil {
		return fmt.Errorf("%s: %w", run, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latencies = append(m.latencies, int64(time.Since(at)))
	if n := len(m.left); n == 0 || time.Since(m.left[n-1].at) >= time.Second {
		m.left = append(m.left, left{run, time.Now()})
	}
	return nil
}

// take gives the latencies since it was last asked.
func (m *meter) take() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.latencies
	m.latencies = nil
	return taken
}
