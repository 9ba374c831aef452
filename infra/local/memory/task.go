package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

func (s *Store) SaveTask(ctx context.Context, state *engine.TaskState) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("the state of activity %d of run %q cannot be stored: %w", state.Seq, state.Run, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks[state.TaskKey] = text
	return ctx.Err()
}

func (s *Store) LoadTask(ctx context.Context, key engine.TaskKey) (*engine.TaskState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, there := s.tasks[key]
	if !there {
		return nil, ctx.Err()
	}
	return decodeTask(text)
}

func (s *Store) TasksOf(ctx context.Context, name string) (states []*engine.TaskState, err error) {
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
	slices.SortFunc(states, func(a, b *engine.TaskState) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq))
	})
	return states, ctx.Err()
}

func (s *Store) DeleteTask(ctx context.Context, key engine.TaskKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tasks, key)
	return ctx.Err()
}

func decodeTask(text []byte) (*engine.TaskState, error) {
	state := &engine.TaskState{}
	if err := json.Unmarshal(text, state); err != nil {
		return nil, fmt.Errorf("%w: the state of an activity: %w", history.ErrUnreadable, err)
	}
	return state, nil
}
