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
	"AcknowledgeLast": 1,
	"AcknowledgeLast (acknowledged before it is sent)": 10,
	"BlockClosed":                         425,
	"CarryIds":                            59,
	"CarryIds (before they are recorded)": 13,
	"CarryIds (of the last record)":       59,
	"CarrySignals":                        1,
	"ClearFirst":                          10,
	"Created":                             2,
	"Cursor":                              35,
	"Deadline (records)":                  1,
	"Deadline (steps)":                    4,
	"DeleteLast":                          1,
	"ExpireLogs (not a base)":             1025,
	"FileFirst":                           10,
	"Finish":                              6,
	"FinishFirst":                         10,
	"ForgottenMail":                       44,
	"ForgottenMail (since when)":          1260,
	"HandOver":                            102,
	"LookAgain":                           1160,
	"LookAgain (closed, the start)":       1719,
	"MessageFirst (mail)":                 697,
	"MessageFirst (reuse)":                97,
	"MessageFirst (start)":                15,
	"NameAgain":                           6,
	"Patience":                            1,
	"RebuildClosed":                       132,
	"RebuildSends":                        1,
	"ResumeAgain (child)":                 39,
	"ResumeAgain (result)":                51,
	"ResumeLater":                         9,
	"SendFirst":                           141,
	"StartLeft":                           490,
	"StartLeft (by a dead author)":        78,
	"Takeover":                            14,
	"a generation that is ended before it begins":        13,
	"a lost race is not looked at":                       5,
	"a reset that is asked for again":                    115,
	"a termination that comes again after a reset":       58,
	"a token whose attempt was not kept":                 209,
	"an expiry that was decided on":                      416,
	"attempts of a step in earlier invocations":          102,
	"attributes of a summary from before":                10,
	"mail in the order of its letters":                   299,
	"mail of the generations before a reset":             13,
	"mail that the run before took":                      124,
	"mail that was sent to the run before":               2,
	"mail whose place is another run's":                  1,
	"no condition on the put":                            4,
	"one's own record is not known":                      70,
	"requests to children when queues are lost":          687,
	"steps of a generation that ended":                   44,
	"the end of an invocation":                           10,
	"the end that was meant for the run before":          1863,
	"time goes back":                                     4,
	"time goes back (by hand)":                           69,
	"updates after a reset's place":                      112,
	"waits of a step that is handed over":                445,
	"what marks a visit that has no item in one process": 26,
	"what the base asked to stop":                        687,
	"what the code has published":                        1077,
	"what was published after a reset's place":           1077,
}

// TestMutations proves the simulation: without a rule, the engine is caught within 2,000 seeds. The test tries the known seed
// first. It tries a few of the rules; `make mutations` tries 20, `make sim-mutations` all.
func TestMutations(t *testing.T) {
	known, most := slices.Clone(mutation.Rules), len(mutation.Rules)
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
