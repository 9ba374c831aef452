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
// anew. Rules that are missing here guard what the simulation does not do, or so seldom that 2,000 seeds
// do not show it: core/engine and core/flow have a test for each.
var caught = map[string]uint64{
	"a generation that is ended before it begins":        1,
	"a lost race is not looked at":                       21,
	"a reset that is asked for again":                    684,
	"a signal that does not fit blocks":                  4,
	"a termination that comes again after a reset":       125,
	"a token whose attempt was not kept":                 556,
	"AcknowledgeLast":                                    1,
	"AcknowledgeLast (acknowledged before it is sent)":   9,
	"an attempt that has begun is not late":              977,
	"an attempt that would begin after its limit":        428,
	"an expiry that was decided on":                      194,
	"an id that another call's child has":                12,
	"attempts of a step in earlier invocations":          121,
	"attributes of a summary from before":                50,
	"attributes of the generation before":                9,
	"BlockClosed":                                        82,
	"CarryIds":                                           59,
	"CarryIds (before they are recorded)":                7,
	"CarryIds (of the last record)":                      59,
	"CarrySignals":                                       24,
	"children that are left behind":                      9,
	"ClearFirst":                                         4,
	"Created":                                            14,
	"Cursor":                                             44,
	"Deadline (records)":                                 5,
	"Deadline (steps)":                                   5,
	"DeleteLast":                                         7,
	"ExpireLogs (not a base)":                            267,
	"FileFirst":                                          5,
	"Finish":                                             13,
	"FinishFirst":                                        7,
	"flows: a failed node's edge":                        9,
	"flows: a subflow begins anew":                       181,
	"flows: calls that have ended, over generations":     31,
	"flows: fail_fast stops the others":                  582,
	"flows: failures that are tolerated":                 14,
	"flows: messages before a node looks":                31,
	"flows: messages before the end of a generation":     35,
	"flows: no new call in a long log":                   36,
	"flows: params of the node over the task's":          26,
	"flows: results in order":                            26,
	"flows: retries of a call":                           14,
	"flows: retries of a node over generations":          397,
	"flows: rows over generations":                       36,
	"flows: shared state over generations":               56,
	"flows: steps over generations":                      36,
	"flows: the edge default":                            9,
	"flows: the input of a node over generations":        36,
	"flows: the place in a subflow over generations":     78,
	"flows: the row of a cancellation":                   6,
	"flows: waiting nodes look after each message":       27,
	"flows: what a message writes is published":          26,
	"flows: what is published between generations":       173,
	"ForgottenMail":                                      140,
	"HandOver":                                           183,
	"limits of a call that a reset keeps":                17,
	"LookAgain":                                          59,
	"LookAgain (closed, the start)":                      1612,
	"mail in the order of its letters":                   10,
	"mail of the generations before a reset":             22,
	"mail that was sent to the run before":               75,
	"mail whose place is another run's":                  1,
	"memory of an evicted run":                           3,
	"NameAgain":                                          61,
	"no condition on the put":                            2,
	"no time for the next attempt":                       418,
	"one's own record is not known":                      21,
	"pages of a rebuild":                                 65,
	"Patience":                                           28,
	"RebuildClosed":                                      22,
	"RebuildSends":                                       3,
	"requests to children when queues are lost":          240,
	"ResumeAgain (child)":                                13,
	"ResumeAgain (result)":                               105,
	"ResumeLater":                                        4,
	"schedule-to-close from the call":                    44,
	"schedule-to-start from the call":                    274,
	"SendFirst":                                          242,
	"start-to-close from the attempt":                    3,
	"StartLeft":                                          168,
	"StartLeft (by a dead author)":                       105,
	"steps of a generation that ended":                   61,
	"Takeover":                                           13,
	"the end of an invocation":                           9,
	"the end that was meant for the run before":          168,
	"time goes back":                                     5,
	"time goes back (by hand)":                           282,
	"updates after a reset's place":                      26,
	"waits of a step that is handed over":                478,
	"what marks a left child in one process":             117,
	"what marks a visit that has no item in one process": 132,
	"what the base asked to stop":                        17,
	"what the code has published":                        27,
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
