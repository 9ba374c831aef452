package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

func (s *Store) SaveTask(ctx context.Context, state *port.TaskState) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.task(state.TaskKey)
	if err != nil {
		return err
	}
	next := *state
	next.Cancelled = state.Cancelled || before.Cancelled
	return errors.Join(s.keepTask(&next), ctx.Err())
}

func (s *Store) CancelTask(ctx context.Context, key port.TaskKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := s.task(key)
	if err != nil {
		return err
	}
	state.Cancelled = true
	return errors.Join(s.keepTask(state), ctx.Err())
}

// task gives the state of a key; if there is none, one that says nothing.
func (s *Store) task(key port.TaskKey) (*port.TaskState, error) {
	if text, there := s.tasks[key]; there {
		return decodeTask(text)
	}
	return &port.TaskState{TaskKey: key}, nil
}

func (s *Store) keepTask(state *port.TaskState) error {
	text, err := port.EncodeTask(history.Encoder{}, state)
	if err != nil {
		return err
	}
	s.tasks[state.TaskKey] = text
	return nil
}

func (s *Store) LoadTask(ctx context.Context, key port.TaskKey) (*port.TaskState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, there := s.tasks[key]
	if !there {
		return nil, ctx.Err()
	}
	return decodeTask(text)
}

func (s *Store) TasksOf(ctx context.Context, name string) (states []*port.TaskState, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, text := range s.tasks {
		if key.Run != name {
			continue
		}
		state, err := decodeTask(text)
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	slices.SortFunc(states, func(a, b *port.TaskState) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq))
	})
	return states, ctx.Err()
}

func (s *Store) DeleteTask(ctx context.Context, key port.TaskKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, key)
	return ctx.Err()
}

func decodeTask(text []byte) (*port.TaskState, error) {
	return port.DecodeTask(&history.Decoder{}, text)
}
