package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/port/porttest"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	porttest.TestStores(t, func(*testing.T) porttest.Stores {
		s := memory.New()
		return porttest.Stores{Runs: s, Directory: s, Due: s, Tasks: s, Catalog: s, Workers: s,
			TamperRecord: s.TamperRecord, TamperItem: s.TamperItem}
	}, porttest.Capabilities{Refuses: true})
}
