// Package memory is the store in memory: the ports of core/engine that keep something, for tests, and the reference that
// other stores are compared with. It is simple before it is fast.
//
// Everything is kept in its stored form and read anew for each caller, so nothing is shared by pointer, and what cannot
// be stored is refused here as anywhere else. It knows nothing of queues, and forgets everything with the process.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Store implements [port.Runs], [port.Directory], [port.Due], [port.Tasks], [port.Catalog] and
// [port.Workers]. It may be used by any number of goroutines; no method blocks for longer than the
// others take.
type Store struct {
	mu    sync.Mutex
	runs  map[string]*run
	count int // of runs ever created
	due   map[port.DueTimer]bool
	tasks map[port.TaskKey][]byte
	// catalog has definitions by name and version.
	catalog map[string]map[int]*port.Definition
	workers map[string]port.Worker // by URL
}

// New makes an empty store.
func New() *Store {
	return &Store{runs: map[string]*run{}, due: map[port.DueTimer]bool{},
		tasks:   map[port.TaskKey][]byte{},
		catalog: map[string]map[int]*port.Definition{}, workers: map[string]port.Worker{}}
}

// Writable is nil: memory takes all.
func (*Store) Writable() error { return nil }

type run struct {
	number  int // of its creation: decides the order among runs that started at the same time
	summary []byte
	inbox   map[string]item
	logs    map[int][]stored // by generation
	notes   map[string]port.Position
}

type item struct {
	event   []byte
	stamp   int64
	durable bool
}

// stored is a record; a log is in order of number.
type stored struct {
	number int
	record []byte
}

// pageBytes is how much of a log one page holds, at least one record.
const pageBytes = 1 << 20

func (s *Store) Look(ctx context.Context, name string, known port.Position) (*port.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, summary, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	view := &port.View{Summary: summary}
	for key, kept := range r.inbox {
		item, err := kept.read(key)
		if err != nil {
			return nil, err
		}
		view.Inbox = append(view.Inbox, *item)
	}
	if known == port.Newest {
		view.Records, view.More, err = r.before(summary.Generation, math.MaxInt)
		return view, err
	}
	after := 0
	if known.Generation == summary.Generation {
		after = known.Record
	}
	view.Records, view.More, err = r.page(summary.Generation, after)
	return view, err
}

func (s *Store) Records(ctx context.Context, name string, generation, after int) ([]*history.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[name]; r != nil {
		records, _, err := r.page(generation, after)
		return records, err
	}
	return nil, ctx.Err()
}

func (s *Store) RecordsBefore(
	ctx context.Context, name string, generation, before int,
) ([]*history.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[name]; r != nil {
		records, _, err := r.before(generation, before)
		return records, err
	}
	return nil, ctx.Err()
}

func (s *Store) Summary(ctx context.Context, name string) (*port.Summary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, summary, err := s.find(ctx, name)
	return summary, err
}

func (s *Store) Create(ctx context.Context, summary *port.Summary, start port.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.runs[summary.Run] != nil {
		return fmt.Errorf("run %q: %w", summary.Run, port.ErrTaken)
	}
	text, err := encode(summary)
	if err != nil {
		return err
	}
	s.count++
	s.runs[summary.Run] = &run{
		number:  s.count,
		summary: text,
		inbox:   map[string]item{start.Key: keep(start)},
		logs:    map[int][]stored{},
		notes:   map[string]port.Position{},
	}
	return nil
}

func (s *Store) File(
	ctx context.Context, name string, filed port.Item,
) (stamp int64, there bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, _, err := s.find(ctx, name)
	if err != nil {
		return 0, false, err
	}
	if earlier, there := r.inbox[filed.Key]; there {
		return earlier.stamp, true, nil
	}
	r.inbox[filed.Key] = keep(filed)
	return filed.Stamp, false, nil
}

func (s *Store) Put(ctx context.Context, commit *port.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, current, err := s.find(ctx, commit.Run)
	if err != nil {
		return err
	}
	log := r.logs[commit.Generation]
	if commit.Record != nil {
		at, there := slices.BinarySearchFunc(log, commit.Record.Number, byNumber)
		if there {
			return fmt.Errorf("record %d of generation %d of run %q: %w", commit.Record.Number,
				commit.Generation, commit.Run, port.ErrTaken)
		}
		log = slices.Insert(slices.Clip(log), at, stored{commit.Record.Number, history.AppendRecord(nil, commit.Record)})
	}
	summary := r.summary
	if commit.Summary != nil {
		if current.Generation != commit.Generation {
			return fmt.Errorf("run %q is in generation %d: %w", commit.Run, current.Generation,
				port.ErrTaken)
		}
		next := *commit.Summary
		next.Blocked = current.Blocked
		if summary, err = encode(&next); err != nil {
			return err
		}
	}
	r.logs[commit.Generation], r.summary = log, summary
	if commit.Next != nil {
		r.inbox[commit.Next.Key] = keep(*commit.Next)
	}
	return nil
}

func (s *Store) DeleteLog(ctx context.Context, name string, generation int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[name]; r != nil {
		delete(r.logs, generation)
		maps.DeleteFunc(r.notes, func(_ string, at port.Position) bool {
			return at.Generation == generation
		})
	}
	return ctx.Err()
}

func (s *Store) Delete(ctx context.Context, name string, keys []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[name]; r != nil {
		for _, key := range keys {
			delete(r.inbox, key)
		}
	}
	return ctx.Err()
}

func (s *Store) Discard(ctx context.Context, name string, generation int, keys []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, summary, err := s.find(ctx, name)
	switch {
	case errors.Is(err, port.ErrNoRun):
		return nil
	case err != nil:
		return err
	case summary.Generation != generation:
		return fmt.Errorf("run %q is in generation %d: %w", name, summary.Generation, port.ErrTaken)
	}
	for _, key := range keys {
		delete(r.inbox, key)
	}
	return nil
}

func (s *Store) Block(ctx context.Context, name string, block *port.Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, summary, err := s.find(ctx, name)
	if err != nil {
		return err
	}
	summary.Blocked = block
	r.summary, err = encode(summary)
	return err
}

func (s *Store) Unblock(ctx context.Context, name, mark string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, summary, err := s.find(ctx, name)
	if errors.Is(err, port.ErrNoRun) {
		return nil
	}
	if err != nil || summary.Blocked == nil || summary.Blocked.ID != mark {
		return err
	}
	summary.Blocked = nil
	r.summary, err = encode(summary)
	return err
}

// find gives a run and what its summary says, or ErrNoRun.
func (s *Store) find(ctx context.Context, name string) (*run, *port.Summary, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	r := s.runs[name]
	if r == nil {
		return nil, nil, fmt.Errorf("run %q: %w", name, port.ErrNoRun)
	}
	summary, err := decode(r.summary)
	return r, summary, err
}

func keep(filed port.Item) item {
	return item{event: history.EncodeEvent(filed.Event), stamp: filed.Stamp, durable: filed.Durable}
}

func (i item) read(key string) (*port.Item, error) {
	event, err := history.DecodeEvent(i.event)
	if err != nil {
		return nil, fmt.Errorf("item %q: %w", key, err)
	}
	return &port.Item{Key: key, Event: event, Stamp: i.stamp, Durable: i.durable}, nil
}

// page gives the records of a generation after a number, as many as fit.
func (r *run) page(generation, after int) (records []*history.Record, more bool, err error) {
	log := r.logs[generation]
	at, _ := slices.BinarySearchFunc(log, after+1, byNumber)
	size := 0
	var decoder history.Decoder
	for _, s := range log[at:] {
		if size += len(s.record); len(records) > 0 && size > pageBytes {
			return records, true, nil
		}
		record, err := decoder.Record(s.record)
		if err != nil {
			return records, false, fmt.Errorf("record %d of generation %d: %w", s.number, generation, err)
		}
		records = append(records, record)
	}
	return records, false, nil
}

// before gives the last records of a generation before a number, as many as fit.
func (r *run) before(generation, before int) (records []*history.Record, more bool, err error) {
	log := r.logs[generation]
	end, _ := slices.BinarySearchFunc(log, before, byNumber)
	size := 0
	var decoder history.Decoder
	for _, s := range slices.Backward(log[:end]) {
		if size += len(s.record); len(records) > 0 && size > pageBytes ||
			len(records) == port.NewestRecords {
			more = true
			break
		}
		record, err := decoder.RecordWithCheckpoint(s.record)
		if err != nil {
			return nil, false, fmt.Errorf("record %d of generation %d: %w", s.number,
				generation, err)
		}
		records = append(records, record)
	}
	slices.Reverse(records)
	return records, more, nil
}

func byNumber(s stored, number int) int { return cmp.Compare(s.number, number) }

// encode gives a summary's stored form.
func encode(summary *port.Summary) ([]byte, error) {
	return port.EncodeSummary(history.Encoder{}, summary)
}

func decode(text []byte) (*port.Summary, error) {
	return port.DecodeSummary(&history.Decoder{}, text)
}
