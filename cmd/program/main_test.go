package program_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A server that was stopped, and a client that has ended, leave nothing behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
