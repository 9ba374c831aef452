package simulation

import (
	"regexp"
	"slices"
)

// mostTries is how many cases are tried to find a smaller one.
const mostTries = 400

// digits tell apart what is the same violation elsewhere.
var digits = regexp.MustCompile(`[0-9]+`)

// Shrink gives a smaller case that is violated in the same way: with fewer faults, fewer nodes of programs, fewer acts of
// callers. Run carries out a case.
func Shrink(c Case, run func(Case) Result) (smallest Case, last Result) {
	last = run(c)
	kind := digits.ReplaceAllString(last.Violation, "")
	tries := 0
	try := func(smaller Case) bool {
		if tries++; tries > mostTries {
			return false
		}
		r := run(smaller)
		if digits.ReplaceAllString(r.Violation, "") != kind {
			return false
		}
		c, last = smaller, r
		return true
	}
	// Faults: those that happened, fewer and fewer of them.
	struck := last.Struck
	for size := len(struck); size > 0; size /= 2 {
		for at := 0; at < len(struck); {
			fewer := slices.Delete(slices.Clone(struck), at, min(at+size, len(struck)))
			smaller := c
			smaller.Faults = append([]int{}, fewer...)
			if try(smaller) {
				struck = fewer
			} else {
				at += size
			}
		}
	}
	// Nodes and acts, in the same way.
	places := last.Places
	for size := len(places); size > 0; size /= 2 {
		for at := 0; at < len(places); {
			some := places[at:min(at+size, len(places))]
			smaller := c
			smaller.Without = append(slices.Clone(c.Without), some...)
			if try(smaller) {
				places = slices.Delete(slices.Clone(places), at, at+len(some))
			} else {
				at += size
			}
		}
	}
	return c, last
}
