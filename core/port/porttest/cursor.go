package porttest

import (
	"encoding/base64"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

var cursorCases = []namedCase{
	{"a cursor that somebody made up is invalid, or shows a page", func(s *subject) {
		s.population()
		_, cursor, err := s.Directory.List(s.t.Context(), port.ListQuery{Limit: 3})
		require.NoError(s.t, err)
		made := []string{"x", "1", "1.2x", "1.2.3", "-1.-1", "1e9.1", "99999999999999999999.1", "#", "\xff", "inbox x", "inbox 9x", "running x", "running 1.2.x", "memory x",
			cursor[1:], cursor[:len(cursor)/2], cursor + "x", cursor + cursor, strings.Repeat("7", 5000)}
		for _, text := range []string{"2026-03-01T12:00:00.000000000Z", "2026-03-01T12:00:00.000000000Z#" + strings.Repeat("x", 5000), "2026-03-01T12:00:00.000000000Z#\xff",
			`{"pk":"run#x","sk":"run"}`, `{"pk":"run#x","sk":"` + strings.Repeat("x", 5000) + `"}`, `{"pk":7}`, `[]`} {
			made = append(made, base64.RawURLEncoding.EncodeToString([]byte(text)))
		}
		for _, cursor := range made {
			if _, _, err := s.Directory.List(s.t.Context(),
				port.ListQuery{Cursor: cursor}); err != nil {
				require.Equal(s.t, port.Invalid, port.CodeOf(err), "%.100q: %v", cursor, err)
			}
			if _, _, err := s.Directory.Unfinished(s.t.Context(), cursor); err != nil {
				require.Equal(s.t, port.Invalid, port.CodeOf(err), "%.100q: %v", cursor, err)
			}
		}
	}},
}
