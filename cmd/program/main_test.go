package program_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/cmd/program"
)

// asProgram is the variable that has the test's binary be the program, with these arguments.
const asProgram = "REPRISE_TEST_ARGS"

// A server that was stopped, and a client that has ended, leave nothing behind.
func TestMain(m *testing.M) {
	if args := os.Getenv(asProgram); args != "" {
		os.Exit(program.Run(context.Background(), strings.Split(args, "\n"), os.Stdin, os.Stdout,
			os.Stderr))
	}
	goleak.VerifyTestMain(m)
}
