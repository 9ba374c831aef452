package mutation

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
)

var many = flag.Bool("mutations", false, "try many mutations, not a few: one build of the engine each")

// Drawn gives the mutations that a test tries, drawn again by each run: a few, or most of them with the
// flag -mutations. Each costs a build of the engine, some seconds. It skips the test where the run is
// to be short, or under the race detector.
func Drawn(tb testing.TB, rules []Mutation, few, most int) []Mutation {
	tb.Helper()
	if testing.Short() || UnderRace {
		tb.Skip("it builds the engine once for each rule")
	}
	if *many {
		few = most
	}
	drawn := slices.Clone(rules)
	rand.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn[:min(few, len(drawn))]
}
