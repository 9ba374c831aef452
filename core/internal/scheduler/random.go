package scheduler

import "math/rand/v2"

// random is the run's own source of randomness: seeded by its log, so that replay draws the same numbers. PCG's sequence is
// part of its specification and does not change from one version of Go to the next.
type random struct{ *rand.PCG }

func (r *random) seed(seed uint64) {
	r.PCG = rand.NewPCG(seed, 0x9e3779b97f4a7c15)
}

// Random gives the next 64 random bits.
func (u *Unit) Random() uint64 {
	u.effects("Random")
	return u.run.random.Uint64()
}
