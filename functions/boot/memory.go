package boot

import (
	"os"
	"runtime/debug"

	"github.com/reprise-run/reprise/core/memory"
)

// Parts of a function's memory. The rest is for the runtime of Lambda, for the SDK's connections,
// and for garbage.
const (
	partForOthers = 8 // what Go does not count
	partForBudget = 2 // live runs, bodies and answers
)

// useMemory keeps the function within the memory that it has, and gives the budget for what runs
// and callers have it hold. Nil: it is not known how much there is.
func (e environment) useMemory() *memory.Budget {
	if e.memory == 0 {
		return nil
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(e.memory - e.memory/partForOthers)
	}
	return memory.New(e.memory / partForBudget)
}
