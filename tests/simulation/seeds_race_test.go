//go:build race

package simulation

// fewSeeds is less under the race detector, which takes ten times as long.
const fewSeeds = 60
