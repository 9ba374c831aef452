//go:build !race

package simulation

// fewSeeds is what make test runs: some seconds.
const fewSeeds = 500
