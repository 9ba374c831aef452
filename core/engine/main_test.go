package engine_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A live run that is not closed, an attempt that nobody ends: every test must leave none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
