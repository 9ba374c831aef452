package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/reprise-run/reprise/infra/api/client"
)

// residents are so many runs: more than the server keeps alive in memory, so that most of the time one must be replayed.
const residents = 1200

// driven is how many of them take nearly all letters: they go on in new generations all the time. The others are mostly asked: a
// run that waits and is written to grows until it continues as new, which is what a run does, and no leak.
const driven = 20

// resident is a counter that stays open while the load lasts.
type resident struct {
	run  string
	mu   sync.Mutex
	sent tally
}

func (r *resident) accepted(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent.add(n)
}

// settle starts the residents.
func (l *load) settle(ctx context.Context) error {
	for i := range residents {
		r := &resident{run: fmt.Sprint("resident-", i)}
		if _, err := client.Start(ctx, l.client, counter, r.run, tally{}); err != nil {
			return err
		}
		l.residents = append(l.residents, r)
	}
	return nil
}

// anyResident picks one.
func (l *load) anyResident() *resident { return l.residents[rand.IntN(len(l.residents))] }

// addressee picks one that is written to.
func (l *load) addressee() *resident {
	if rand.IntN(20) > 0 {
		return l.residents[rand.IntN(driven)]
	}
	return l.anyResident()
}

// driveResident asks one of the residents, and sends one something. What it comes to shows when it ends.
func driveResident(ctx context.Context, l *load, _ string, i int) error {
	if _, err := client.Query(ctx, l.client, l.anyResident().run, total, struct{}{}); err != nil {
		return err
	}
	r := l.addressee()
	if err := client.Signal(ctx, l.client, r.run, add, i); err != nil {
		return fmt.Errorf("%s: %w", r.run, err)
	}
	r.accepted(i)
	return nil
}

// leave has the residents finish, and holds what they have seen against what they were sent.
func (l *load) leave() {
	const together = 16
	var all sync.WaitGroup
	next := make(chan *resident)
	for range together {
		all.Go(func() {
			for r := range next {
				l.note("resident", r.leave(l))
			}
		})
	}
	for _, r := range l.residents {
		next <- r
	}
	close(next)
	all.Wait()
}

func (r *resident) leave(l *load) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := client.Signal(ctx, l.client, r.run, finish, struct{}{}); err != nil {
		return fmt.Errorf("%s: %w", r.run, err)
	}
	got, err := client.RunOf(l.client, counter, r.run).Result(ctx)
	if err != nil {
		return err
	}
	if got.Count != r.sent.Count || got.Sum != r.sent.Sum {
		return fmt.Errorf("%s has seen %+v, and was sent %+v", r.run, got, r.sent)
	}
	l.ended.Add(1)
	return nil
}
