package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/engine/enginetest"
	"github.com/reprise-run/reprise/infra/local/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	enginetest.TestStores(t, func(*testing.T) enginetest.Stores {
		s := memory.New()
		return enginetest.Stores{Runs: s, Directory: s, Due: s, Tasks: s, TamperRecord: s.TamperRecord, TamperItem: s.TamperItem}
	}, enginetest.Capabilities{Refuses: true})
}
