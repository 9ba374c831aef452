package local

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage collector's target for a process that is nothing but a node. What usually lives there
// is a few megabytes, and collecting whenever that doubles means collecting all the time, for a
// sixth of a busy server's CPU. So a small heap may grow fourfold, and a large one only twofold.
const (
	mostGrowth  = 300 // percent
	leastGrowth = 100
	// growth is how many bytes the heap grows between those two.
	growth = 128 << 20
)

// Collect has the garbage collector keep the process within so many bytes, as far as it can, and
// sets its target after each collection: how far the heap may grow depends on what lives. It sets
// no target where one is given by GOGC.
func Collect(memory int64, target bool) {
	debug.SetMemoryLimit(memory)
	if target {
		debug.SetGCPercent(mostGrowth)
		afterNextCollection(mostGrowth)
	}
}

// afterNextCollection sets the target once the collector has found out what lives.
func afterNextCollection(present int) {
	type unreachable struct{ _ [16]byte } // large enough not to be allocated together with others
	runtime.AddCleanup(new(unreachable), func(present int) {
		next := growthOf(live())
		if next != present {
			debug.SetGCPercent(next)
		}
		afterNextCollection(next)
	}, present)
}

// live is how many bytes the last collection left.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// growthOf is how far a heap may grow of which so many bytes live, in percent.
func growthOf(live uint64) int {
	return max(leastGrowth, min(mostGrowth, int(growth*100/max(live, 1))))
}
