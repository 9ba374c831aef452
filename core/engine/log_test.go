package engine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// What counts for a generation can be read on from any record, also from those of earlier generations that resets kept.
func TestExportGoesOn(t *testing.T) {
	simulate(t, only("main", twoSignals), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		for _, id := range []string{"a", "b"} {
			w.signal("r", id, "go", `"`+id+`"`)
			w.settle()
		}
		require.NoError(w.t, w.reset("r", "x2", 2))
		w.ends(`"ab"`)
		require.NoError(w.t, w.reset("r", "x3", 1))
		w.ends(`"ab"`)
		p := w.process("api")
		export := func(generation int, after port.Position) (places []port.Position) {
			require.NoError(w.t, p.engine.Export(p.in(), "r", generation, after,
				func(at port.Position, rec *history.Record) error {
					require.Equal(w.t, at.Record, rec.Number)
					places = append(places, at)
					return nil
				}))
			return places
		}
		for generation, segments := range map[int]int{1: 1, 2: 2, 3: 3} {
			all := export(generation, port.Position{})
			found := map[int]bool{}
			for i, at := range all {
				found[at.Generation] = true
				require.Equal(w.t, all[i+1:], append([]port.Position{}, export(generation, at)...))
			}
			require.Len(w.t, found, segments)
		}
		require.Equal(w.t, export(3, port.Position{}), export(0, port.Position{}),
			"0 is the current one")
		enough := errors.New("enough")
		require.ErrorIs(w.t, p.engine.Export(p.in(), "r", 1, port.Position{},
			func(port.Position, *history.Record) error {
				return enough
			}), enough)
		require.Equal(w.t, port.NotFound,
			port.CodeOf(p.engine.Export(p.in(), "r", 4, port.Position{}, nil)))
		require.Equal(w.t, port.NotFound,
			port.CodeOf(p.engine.Export(p.in(), "none", 0, port.Position{}, nil)))
	})
}
