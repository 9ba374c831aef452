//go:build !race

package mutation

// UnderRace: the race detector is on. It says nothing of mutants, which are built without it.
const UnderRace = false
