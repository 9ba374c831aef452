package sqlite_test

import (
	"testing"

	"github.com/reprise-run/reprise/core/port/porttest"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// TestSameAsMemory does the same random operations on this store and on the one in memory. Few runs are hot, so that most are
// read from disk now and then.
func TestSameAsMemory(t *testing.T) {
	same := porttest.Likeness{Capabilities: porttest.Capabilities{Forgets: true, Refuses: true},
		Runs: 12, Pages: true, Ties: true}
	short, large := same, same
	short.Steps = 4000
	large.Steps, large.Large = 1000, true
	for name, likeness := range map[string]porttest.Likeness{"short": short, "large": large} {
		t.Run(name, func(t *testing.T) {
			options := sqlite.Options{HotRuns: 3}
			m := memory.New()
			want := porttest.Stores{Runs: m, Directory: m, Due: m, Tasks: m,
				DeleteClosed: m.DeleteClosed}
			porttest.TestSame(t, want, stores(t, open(t, t.TempDir(), options), options), likeness)
		})
	}
}
