package sqlite_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/port/porttest"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		os.Exit(writeUntilKilled(path))
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	for name, options := range map[string]sqlite.Options{"hot": {}, "cold": {HotRuns: 1}} {
		t.Run(name, func(t *testing.T) {
			porttest.TestStores(t, func(t *testing.T) porttest.Stores {
				t.Helper()
				return stores(t, open(t, t.TempDir(), options), options)
			}, porttest.Capabilities{Forgets: true, Refuses: true})
		})
	}
}

func stores(t *testing.T, s *sqlite.Store, options sqlite.Options) porttest.Stores {
	t.Helper()
	return porttest.Stores{Runs: s, Directory: s, Due: s, Tasks: s, Catalog: s, Workers: s,
		DeleteClosed:  s.DeleteClosed,
		TamperRecord:  s.TamperRecord,
		TamperItem:    s.TamperItem,
		TamperSummary: s.TamperSummary,
		Reopen: func(t *testing.T) porttest.Stores {
			t.Helper()
			require.NoError(t, s.Close())
			return stores(t, open(t, s.Path(), options), options)
		}}
}

func open(tb testing.TB, path string, options sqlite.Options) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.Open(path, options)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}
