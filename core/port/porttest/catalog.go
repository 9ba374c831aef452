package porttest

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

var catalogCases = []namedCase{
	{"there is none", func(s *subject) {
		for _, version := range []int{0, 1} {
			_, err := s.Catalog.FindDefinition(s.t.Context(), "order", version)
			require.ErrorIs(s.t, err, port.ErrNoDefinition)
		}
		_, err := s.Catalog.Definition(s.t.Context(), "order", 1)
		require.ErrorIs(s.t, err, port.ErrNoDefinition)
		require.ErrorIs(s.t, s.Catalog.SetDefinitionStatus(s.t.Context(), "order", 1,
			port.DefinitionRetired), port.ErrNoDefinition)
		require.NoError(s.t, s.Catalog.DeleteDefinition(s.t.Context(), "order", 1))
		require.Empty(s.t, s.versions("order"))
		require.Empty(s.t, s.names())
	}},
	{"a definition comes back whole", func(s *subject) {
		for i, source := range []string{`{"start":"a"}`,
			"async function f() {\n\treturn \"é\"\n}\n", strings.Repeat("x", 1<<20)} {
			want := s.publish("order", i+1, port.DefinitionPublished, source)
			got, err := s.Catalog.Definition(s.t.Context(), "order", i+1)
			require.NoError(s.t, err)
			require.Equal(s.t, want, got)
			got, err = s.Catalog.FindDefinition(s.t.Context(), "order", i+1)
			require.NoError(s.t, err)
			require.Equal(s.t, want.About(), got)
		}
	}},
	{"a version is there once", func(s *subject) {
		want := s.publish("order", 1, port.DefinitionDraft, "a")
		other := definition("order", 1, port.DefinitionPublished, "b")
		require.ErrorIs(s.t, s.Catalog.PutDefinition(s.t.Context(), other), port.ErrTaken)
		got, err := s.Catalog.Definition(s.t.Context(), "order", 1)
		require.NoError(s.t, err)
		require.Equal(s.t, want, got)
	}},
	{"the latest is the highest that is published", func(s *subject) {
		latest := func() int {
			found, err := s.Catalog.FindDefinition(s.t.Context(), "order", 0)
			if err != nil {
				require.ErrorIs(s.t, err, port.ErrNoDefinition)
				return 0
			}
			return found.Version
		}
		for _, version := range []int{10, 2, 9} {
			s.publish("order", version, port.DefinitionDraft, fmt.Sprint("source ", version))
			require.Zero(s.t, latest(), "a draft is not the latest")
		}
		s.publish("orders", 99, port.DefinitionPublished, "of another name")
		for _, step := range []struct {
			version int
			status  port.DefinitionStatus
			latest  int
		}{
			{9, port.DefinitionPublished, 9},
			{2, port.DefinitionPublished, 9},
			{10, port.DefinitionPublished, 10},
			{10, port.DefinitionRetired, 9},
			{9, port.DefinitionRetired, 2},
			{2, port.DefinitionRetired, 0},
		} {
			require.NoError(s.t, s.Catalog.SetDefinitionStatus(s.t.Context(), "order", step.version,
				step.status))
			require.Equal(s.t, step.latest, latest())
			found, err := s.Catalog.Definition(s.t.Context(), "order", step.version)
			require.NoError(s.t, err)
			require.Equal(s.t, step.status, found.Status, "a version is there whatever its status")
		}
	}},
	{"versions are listed without sources, the highest first", func(s *subject) {
		for _, version := range []int{2, 10, 1} {
			s.publish("order", version, port.DefinitionPublished, "source")
		}
		s.publish("order.b", 3, port.DefinitionPublished, "source")
		var numbers []int
		for _, found := range s.versions("order") {
			numbers = append(numbers, found.Version)
			require.Equal(s.t, definition("order", found.Version, port.DefinitionPublished,
				"source").About(), found)
		}
		require.Equal(s.t, []int{10, 2, 1}, numbers)
	}},
	{"names are listed page by page, each once", func(s *subject) {
		var want []string
		for i := range 250 {
			name := fmt.Sprintf("flow-%03d", i)
			want = append(want, name)
			s.publish(name, 1, port.DefinitionDraft, "source")
		}
		s.publish("flow-007", 2, port.DefinitionPublished, "source")
		require.Equal(s.t, want, s.names())
	}},
	{"a version that is deleted is gone, and its number is taken", func(s *subject) {
		s.publish("order", 1, port.DefinitionPublished, "a")
		s.publish("order", 2, port.DefinitionPublished, "b")
		require.NoError(s.t, s.Catalog.DeleteDefinition(s.t.Context(), "order", 2))
		found, err := s.Catalog.FindDefinition(s.t.Context(), "order", 0)
		require.NoError(s.t, err)
		require.Equal(s.t, 1, found.Version)
		require.Equal(s.t, []string{"order"}, s.names())
		require.NoError(s.t, s.Catalog.DeleteDefinition(s.t.Context(), "order", 1))
		require.Empty(s.t, s.names())
		_, err = s.Catalog.FindDefinition(s.t.Context(), "order", 1)
		require.ErrorIs(s.t, err, port.ErrNoDefinition)
		_, err = s.Catalog.Definition(s.t.Context(), "order", 1)
		require.ErrorIs(s.t, err, port.ErrNoDefinition)
		err = s.Catalog.SetDefinitionStatus(s.t.Context(), "order", 1, port.DefinitionPublished)
		require.ErrorIs(s.t, err, port.ErrNoDefinition)
		require.NoError(s.t, s.Catalog.DeleteDefinition(s.t.Context(), "order", 1))
		for _, deleted := range s.versions("order") {
			require.Equal(s.t, port.DefinitionDeleted, deleted.Status)
		}
		other := definition("order", 1, port.DefinitionPublished, "c")
		require.ErrorIs(s.t, s.Catalog.PutDefinition(s.t.Context(), other), port.ErrTaken)
		want := s.publish("order", 1, port.DefinitionDraft, "a")
		require.Equal(s.t, []string{"order"}, s.names())
		found, err = s.Catalog.Definition(s.t.Context(), "order", 1)
		require.NoError(s.t, err)
		require.Equal(s.t, want, found)
	}},
	{"definitions outlive the store", func(s *subject) {
		want := s.publish("order", 1, port.DefinitionPublished, "a")
		s.reopen()
		found, err := s.Catalog.Definition(s.t.Context(), "order", 1)
		require.NoError(s.t, err)
		require.Equal(s.t, want, found)
	}},
	{"one of many that publish a version succeeds", func(s *subject) {
		taken := make(chan error)
		for i := range 8 {
			go func() {
				taken <- s.Catalog.PutDefinition(s.t.Context(),
					definition("order", 1, port.DefinitionPublished, fmt.Sprint(i)))
			}()
		}
		put := 0
		for range 8 {
			if err := <-taken; err == nil {
				put++
			} else {
				require.ErrorIs(s.t, err, port.ErrTaken)
			}
		}
		require.Equal(s.t, 1, put)
	}},
}

func definition(
	name string, version int, status port.DefinitionStatus, source string,
) *port.Definition {
	return &port.Definition{Name: name, Version: version, Kind: "flow", Status: status,
		Hash:      port.HashDefinition("flow", source),
		Bytes:     len(source),
		Publisher: "ci",
		Published: epoch.Add(time.Duration(version)),
		Source:    source}
}

func (s *subject) publish(
	name string, version int, status port.DefinitionStatus, source string,
) *port.Definition {
	s.t.Helper()
	made := definition(name, version, status, source)
	require.NoError(s.t, s.Catalog.PutDefinition(s.t.Context(), made))
	return made
}

func (s *subject) versions(name string) []*port.Definition {
	s.t.Helper()
	found, err := s.Catalog.Versions(s.t.Context(), name)
	require.NoError(s.t, err)
	return found
}

// names reads all pages.
func (s *subject) names() (all []string) {
	s.t.Helper()
	for after := ""; ; after = all[len(all)-1] {
		page, err := s.Catalog.Names(s.t.Context(), after)
		require.NoError(s.t, err)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}
