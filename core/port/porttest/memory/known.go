package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

func (s *Store) Note(ctx context.Context, name string, notes []port.Note) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[name]; r != nil {
		for _, note := range notes {
			r.notes[note.Key] = note.Taken
		}
	}
	return ctx.Err()
}

func (s *Store) Noted(ctx context.Context, name, key string) (port.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[name]; r != nil {
		return r.notes[key], ctx.Err()
	}
	return port.Position{}, ctx.Err()
}

func (s *Store) Item(ctx context.Context, name, key string) (*port.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[name]
	if r == nil {
		return nil, ctx.Err()
	}
	kept, there := r.inbox[key]
	if !there {
		return nil, ctx.Err()
	}
	return kept.read(key)
}

func (s *Store) Record(
	ctx context.Context, name string, at port.Position,
) (*history.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[name]
	if r == nil {
		return nil, ctx.Err()
	}
	log := r.logs[at.Generation]
	i, there := slices.BinarySearchFunc(log, at.Record, byNumber)
	if !there {
		return nil, ctx.Err()
	}
	record, err := (&history.Decoder{}).Record(log[i].record)
	if err != nil {
		return nil, fmt.Errorf("record %d of generation %d: %w", at.Record, at.Generation, err)
	}
	return record, nil
}
