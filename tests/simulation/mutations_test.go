package simulation

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/tests/mutation"
)

var hunt = flag.Bool("hunt", false, "TestMutations looks for the first seed that catches each mutation, also those that no seed is known for")

// caught says which seed catches the engine without a rule. They change with the generator: make sim-mutations finds them
// anew. Rules that are missing here guard what the simulation does not do: core/engine has a test for each.
var caught = map[string]uint64{
	"AcknowledgeLast (acknowledged before it is sent)": 7,
	"AcknowledgeLast":                     13,
	"BlockClosed":                         605,
	"CarryIds":                            37,
	"CarryIds (before they are recorded)": 37,
	"CarryIds (of the last record)":       37,
	"Deadline (records)":                  1,
	"DeleteLast":                          14,
	"FileFirst":                           6,
	"Finish":                              7,
	"FinishFirst":                         15,
	"LookAgain":                           816,
	"MessageFirst (mail)":                 1202,
	"MessageFirst (start)":                25,
	"NameAgain":                           321,
	"Patience":                            79,
	"ResumeAgain (child)":                 39,
	"ResumeAgain (result)":                13,
	"ResumeLater":                         15,
	"StartLeft (by a dead author)":        389,
	"Takeover":                            25,
	"attempts of a step in earlier invocations": 42,
	"mail in the order of its letters":          55,
	"one's own record is not known":             271,
	"steps of a generation that ended":          36,
	"the end of an invocation":                  4,
	"time goes back":                            19,
	"time goes back (by hand)":                  236,
	"waits of a step that is handed over":       323,
}

// TestMutations proves the simulation: without a rule, the engine is caught within 2,000 seeds. The seed that is known is tried
// first.
func TestMutations(t *testing.T) {
	if testing.Short() || mutation.UnderRace {
		t.Skip("it compiles the engine once for each rule")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	processors := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range mutation.Rules {
		known, is := caught[m.Rule]
		if !is && !*hunt {
			continue
		}
		t.Run(m.Rule, func(t *testing.T) {
			t.Parallel()
			processors <- struct{}{}
			defer func() { <-processors }()
			binary := filepath.Join(t.TempDir(), "mutant")
			build := exec.CommandContext(t.Context(), "go", "test", "-c", m.Overlay(t, root), "-vet=off", "-o", binary, "./tests/simulation")
			build.Dir = root
			output, err := build.CombinedOutput()
			require.NoError(t, err, "%s", output)
			if is && !*hunt && sees(t, binary, known, 1) != "" {
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
