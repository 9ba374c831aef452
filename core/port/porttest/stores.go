// Package porttest is the suite that every adapter of the engine's storing ports passes: what
// core/port says, sentence by sentence. An adapter's own test opens the store, declares where it
// differs, and calls [TestStores]; and [TestSame], which compares it with another one.
package porttest

import (
	"context"
	"testing"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// Stores are the ports under test.
type Stores struct {
	Runs      port.Runs
	Directory port.Directory
	Due       port.Due
	Tasks     port.Tasks
	Catalog   port.Catalog
	Workers   port.Workers
	// TamperRecord and TamperItem change what is stored, as another version of the program, or damage, would.
	TamperRecord func(t *testing.T, run string, generation, number int, change func(stored []byte) []byte)
	TamperItem   func(t *testing.T, run, key string, change func(stored []byte) []byte)
	// TamperSummary does that to a run's summary. Nil: nothing else is known of a run.
	TamperSummary func(t *testing.T, run string, change func(stored []byte) []byte)
	// Reopen closes the store in good order and opens it again. Nil: it is volatile.
	Reopen func(t *testing.T) Stores
	// DeleteClosed deletes runs that ended before a time, limit of them at most, and says how many. Nil: it cannot.
	DeleteClosed func(ctx context.Context, before time.Time, limit int) (deleted int, err error)
}

// Capabilities are what adapters may differ in.
type Capabilities struct {
	// Forgets: items that are not durable do not outlive the store (engine.Ports.Together).
	Forgets bool
	// Refuses: filing to a run that is not there, and putting a record of it, is ErrNoRun. A store that would have to read
	// first to know leaves that to its caller.
	Refuses bool
}

// TestStores runs the suite. Open gives an empty store, and closes it when its test ends.
func TestStores(t *testing.T, open func(t *testing.T) Stores, capabilities Capabilities) {
	for _, group := range []struct {
		name  string
		cases []namedCase
	}{
		{"create", createCases},
		{"log", logCases},
		{"summary", summaryCases},
		{"inbox", inboxCases},
		{"known", knownCases},
		{"race", raceCases},
		{"list", listCases},
		{"cursor", cursorCases},
		{"unfinished", unfinishedCases},
		{"due", dueCases},
		{"task", taskCases},
		{"catalog", catalogCases},
		{"workers", workerCases},
		{"reopen", reopenCases},
		{"unreadable", unreadableCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					c.test(&subject{Stores: open(t), t: t, can: capabilities})
				})
			}
		})
	}
}

type namedCase struct {
	name string
	test func(s *subject)
}

// subject is a store under test, with verbs that fail the test.
type subject struct {
	Stores
	t   *testing.T
	can Capabilities
}
