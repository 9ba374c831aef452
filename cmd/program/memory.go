package program

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/system"
)

// leastMemory is what a server needs to be of use.
const leastMemory = 64 << 20

// Parts of the memory that a server may use. The rest is for the process itself, and for the
// garbage that the collector has not found yet.
const (
	partForOthers = 8 // of what Go does not count: SQLite's buffers
	partForBudget = 2 // of live runs, bodies and answers
	partForHot    = 8 // of the store's cache of runs
	mostForHot    = 64 << 20
)

// memorySizes are the units that --memory takes, as GOMEMLIMIT does.
var memorySizes = []struct {
	unit  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// parseMemory reads a number of bytes, as in 512MiB. Without a value, it is what this process may
// use here.
func parseMemory(text string) (int64, error) {
	if text == "" {
		return max(system.Memory(), leastMemory), nil
	}
	for _, size := range memorySizes {
		digits, ok := strings.CutSuffix(text, size.unit)
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || n <= 0 || n > 1<<62/size.bytes {
			continue
		}
		if n *= size.bytes; n < leastMemory {
			return 0, fmt.Errorf("--memory %s: a server needs 64MiB at least", text)
		}
		return n, nil
	}
	return 0, fmt.Errorf("--memory %s: it must be a number with KiB, MiB or GiB, as in 512MiB", text)
}

// useMemory keeps the process within so many bytes, and gives the budget for what callers make it
// hold.
func useMemory(bytes int64) *memory.Budget {
	local.Collect(bytes-bytes/partForOthers, os.Getenv("GOGC") == "")
	return memory.New(bytes / partForBudget)
}

// hotBytes is how much the store's cache may hold of it.
func hotBytes(bytes int64) int { return int(min(bytes/partForHot, mostForHot)) }
