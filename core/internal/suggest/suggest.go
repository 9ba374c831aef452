// Package suggest finds the name that an author probably meant.
package suggest

import "strings"

// Suggester finds the name that was probably meant. Its work has a bound: a hostile definition has
// thousands of wrong names, and thousands of names to compare them with. The zero value is ready.
type Suggester struct{ comparisons int }

const (
	mostComparisons = 100_000 // of one definition
	longestCompared = 40      // bytes of a name
)

// Nearest gives the known name with the fewest edits, if they are few; else it is empty.
func (s *Suggester) Nearest(name string, known []string) string {
	if name == "" || len(name) > longestCompared {
		return ""
	}
	best, fewest := "", 1+max(len(name)/3, 1)
	for _, candidate := range known {
		apart := max(len(candidate)-len(name), len(name)-len(candidate))
		if len(candidate) > longestCompared || apart >= fewest {
			continue
		}
		if s.comparisons++; s.comparisons > mostComparisons {
			break
		}
		if edits := distance(strings.ToLower(name), strings.ToLower(candidate)); edits < fewest {
			best, fewest = candidate, edits
		}
	}
	return best
}

// distance counts the edits that make one name of the other: a byte more, less or changed, or two
// neighbors swapped.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := last[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(changed, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
