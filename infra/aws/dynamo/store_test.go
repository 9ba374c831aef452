//go:build dynamodb

package dynamo_test

import (
	"testing"

	"github.com/reprise-run/reprise/core/engine/enginetest"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

func TestStore(t *testing.T) {
	enginetest.TestStores(t, func(t *testing.T) enginetest.Stores {
		t.Helper()
		s, config := open(t, dynamo.Config{})
		return stores(s, config)
	}, enginetest.Capabilities{})
}

// stores are opened again as another process would: with nothing but the table and the places.
func stores(s *dynamo.Store, config dynamo.Config) enginetest.Stores {
	return enginetest.Stores{Runs: s, Directory: s, Due: s, Tasks: s, DeleteClosed: s.DeleteClosed, Reopen: func(t *testing.T) enginetest.Stores {
		t.Helper()
		return stores(dynamo.New(config), config)
	}}
}
