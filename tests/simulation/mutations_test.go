package simulation

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/tests/mutation"
)

var hunt = flag.Bool("hunt", false, "TestMutations looks for the first seed that catches each mutation, also those that no seed is known for")

// caught says which seed catches the engine without a rule. They change with the generator: make sim-mutations finds them
// anew. Rules that are missing here guard what the simulation does not do: core/engine has a test for each.
var caught = map[string]uint64{
	"an attempt that has begun is not late":            741,
	"what marks a left child in one process":           117,
	"start-to-close from the attempt":                  3,
	"an attempt that would begin after its limit":      428,
	"schedule-to-start from the call":                  115,
	"memory of an evicted run":                         3,
	"an id that another call's child has":              1,
	"ForgottenMail (since when)":                       34,
	"a signal that does not fit blocks":                4,
	"attributes of the generation before":              9,
	"children that are left behind":                    81,
	"limits of a call that a reset keeps":              17,
	"no time for the next attempt":                     418,
	"pages of a rebuild":                               297,
	"schedule-to-close from the call":                  36,
	"AcknowledgeLast":                                  9,
	"AcknowledgeLast (acknowledged before it is sent)": 18,
	"BlockClosed":                         31,
	"CarryIds":                            59,
	"CarryIds (before they are recorded)": 7,
	"CarryIds (of the last record)":       59,
	"CarrySignals":                        24,
	"ClearFirst":                          10,
	"Created":                             25,
	"Cursor":                              61,
	"Deadline (records)":                  5,
	"Deadline (steps)":                    5,
	"DeleteLast":                          1,
	"ExpireLogs (not a base)":             392,
	"FileFirst":                           10,
	"Finish":                              13,
	"FinishFirst":                         25,
	"ForgottenMail":                       34,
	"HandOver":                            102,
	"LookAgain":                           59,
	"MessageFirst (reuse)":                1917,
	"MessageFirst":                        1917,
	"NameAgain":                           14,
	"Patience":                            14,
	"RebuildClosed":                       22,
	"RebuildSends":                        1,
	"ResumeAgain (child)":                 18,
	"ResumeAgain (result)":                195,
	"ResumeLater":                         15,
	"SendFirst":                           141,
	"StartLeft":                           117,
	"StartLeft (by a dead author)":        31,
	"Takeover":                            27,
	"a generation that is ended before it begins":        4,
	"a lost race is not looked at":                       12,
	"a termination that comes again after a reset":       463,
	"a token whose attempt was not kept":                 786,
	"an expiry that was decided on":                      194,
	"attempts of a step in earlier invocations":          102,
	"attributes of a summary from before":                31,
	"mail in the order of its letters":                   13,
	"mail of the generations before a reset":             32,
	"mail that the run before took":                      124,
	"mail that was sent to the run before":               47,
	"mail whose place is another run's":                  4,
	"no condition on the put":                            5,
	"one's own record is not known":                      21,
	"steps of a generation that ended":                   102,
	"the end of an invocation":                           9,
	"the end that was meant for the run before":          47,
	"time goes back":                                     5,
	"time goes back (by hand)":                           280,
	"updates after a reset's place":                      129,
	"waits of a step that is handed over":                222,
	"what marks a visit that has no item in one process": 62,
	"what the base asked to stop":                        9,
	"what the code has published":                        315,
	"what was published after a reset's place":           315,
}

// TestMutations proves the simulation: without a rule, the engine is caught within 2,000 seeds. The test tries the known seed
// first. It tries a few of the rules; `make mutations` tries 20, `make sim-mutations` all.
func TestMutations(t *testing.T) {
	known, most := slices.Clone(mutation.All), len(mutation.All)
	if !*hunt {
		most = 20
		known = slices.DeleteFunc(known, func(m mutation.Mutation) bool { return caught[m.Rule] == 0 })
	}
	rules := mutation.Drawn(t, known, 4, most)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	processors := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range rules {
		t.Run(m.Rule, func(t *testing.T) {
			t.Parallel()
			processors <- struct{}{}
			defer func() { <-processors }()
			binary := filepath.Join(t.TempDir(), "mutant")
			build := exec.CommandContext(t.Context(), "go", "test", "-c", m.Overlay(t, root), "-vet=off", "-ldflags=-s -w", "-o", binary, "./tests/simulation")
			build.Dir = root
			output, err := build.CombinedOutput()
			require.NoError(t, err, "%s", output)
			if !*hunt && sees(t, binary, caught[m.Rule], 1) != "" {
				return
			}
			seed := sees(t, binary, 1, enough)
			require.NotEmpty(t, seed, "%d seeds go well without the rule", enough)
			t.Logf("%q: %s,", m.Rule, seed)
		})
	}
}

var failed = regexp.MustCompile(`make sim CASE=([0-9]+)`)

// sees gives the seed that catches a mutant; empty: none does.
func sees(t *testing.T, binary string, first uint64, count int) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), binary, "-test.run=^TestSeeds$", "-test.timeout=10m", "-test.cpu=1", "-quick",
		fmt.Sprint("-from=", first), fmt.Sprint("-seeds=", count))
	run.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	output, err := run.CombinedOutput()
	if err == nil {
		return ""
	}
	if found := failed.FindSubmatch(output); found != nil {
		return string(found[1])
	}
	t.Fatalf("it fails for another reason:\n%s", output)
	return ""
}
