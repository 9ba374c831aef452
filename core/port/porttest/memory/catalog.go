package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/reprise-run/reprise/core/port"
)

// pageOfNames is how many names one page of the catalog holds.
const pageOfNames = 100

func (s *Store) PutDefinition(ctx context.Context, definition *port.Definition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := s.catalog[definition.Name]
	before := versions[definition.Version]
	if before != nil && (before.Status != port.DefinitionDeleted ||
		before.Hash != definition.Hash) {
		return port.ErrTaken
	}
	if versions == nil {
		versions = map[int]*port.Definition{}
		s.catalog[definition.Name] = versions
	}
	kept := *definition
	versions[definition.Version] = &kept
	return ctx.Err()
}

func (s *Store) SetDefinitionStatus(
	ctx context.Context, name string, version int, status port.DefinitionStatus,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.kept(name, version)
	if kept == nil {
		return port.ErrNoDefinition
	}
	kept.Status = status
	return ctx.Err()
}

func (s *Store) FindDefinition(
	ctx context.Context, name string, version int,
) (*port.Definition, error) {
	s.mu.Lock()
	if version == 0 {
		for number, kept := range s.catalog[name] { // order-insensitive: a maximum
			if kept.Status == port.DefinitionPublished {
				version = max(version, number)
			}
		}
	}
	s.mu.Unlock()
	found, err := s.Definition(ctx, name, version)
	if err != nil {
		return nil, err
	}
	return found.About(), nil
}

func (s *Store) Definition(
	ctx context.Context, name string, version int,
) (*port.Definition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.kept(name, version)
	if kept == nil {
		return nil, port.ErrNoDefinition
	}
	found := *kept
	return &found, ctx.Err()
}

func (s *Store) Versions(ctx context.Context, name string) (all []*port.Definition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range s.catalog[name] { // order-insensitive: it is sorted
		all = append(all, kept.About())
	}
	slices.SortFunc(all, func(a, b *port.Definition) int {
		return cmp.Compare(b.Version, a.Version)
	})
	return all, ctx.Err()
}

func (s *Store) Names(ctx context.Context, after string) (page []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.catalog)) {
		for version := range s.catalog[name] { // order-insensitive: one is enough
			if s.kept(name, version) != nil {
				names = append(names, name)
				break
			}
		}
	}
	from, found := slices.BinarySearch(names, after)
	if found {
		from++
	}
	return names[from:min(from+pageOfNames, len(names))], ctx.Err()
}

func (s *Store) DeleteDefinition(ctx context.Context, name string, version int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.kept(name, version); kept != nil {
		kept.Source, kept.Status = "", port.DefinitionDeleted
	}
	return ctx.Err()
}

// kept is a version that is there; nil: there is none, or it was deleted.
func (s *Store) kept(name string, version int) *port.Definition {
	kept := s.catalog[name][version]
	if kept == nil || kept.Status == port.DefinitionDeleted {
		return nil
	}
	return kept
}
