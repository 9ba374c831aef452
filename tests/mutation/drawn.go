package mutation

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
)

var all = flag.Bool("mutations", false, "try every mutation, not a few that are drawn: one build of the engine each")

// Drawn gives the mutations that a test tries: count of them, drawn again by each run, or all with the flag -mutations. Each costs a
// build of the engine, some seconds. It skips the test where the run is to be short, or under the race detector.
func Drawn(tb testing.TB, rules []Mutation, count int) []Mutation {
	tb.Helper()
	if testing.Short() || UnderRace {
		tb.Skip("it builds the engine once for each rule")
	}
	if *all {
		return rules
	}
	drawn := slices.Clone(rules)
	rand.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn[:min(count, len(drawn))]
}
