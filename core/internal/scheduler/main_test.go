package scheduler_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A coroutine that is not stopped stays for ever, so every test must leave none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
