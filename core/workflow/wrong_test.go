package workflow_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is wrong should not compile: each of these lines must be refused, and by the type checker's own words a reader must
// see why.
func TestWrongUseDoesNotCompile(t *testing.T) {
	const before = `package wrong

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

type order struct{ ID string }
type receipt struct{ ID string }

var (
	charge  = activity.Declare[order, receipt]("charge")
	child   = workflow.Declare[order, receipt]("child")
	approve = workflow.NewSignal[bool]("approve")
	amend   = workflow.NewUpdate[order, int]("amend")
	peek    = workflow.NewQuery[string, int]("peek")
	stage   = workflow.NewAttribute[string]("stage")
)

func self(ctx workflow.Context, in order) (receipt, error) { return receipt{}, nil }

func wrong(ctx workflow.Context, std context.Context, phase *workflow.Phase[int]) (receipt, error) {
	_ = time.Second
	`
	const after = `
	return receipt{}, nil
}
`
	imports := compiled(t, "context", "time", "github.com/reprise-run/reprise/core/activity", "github.com/reprise-run/reprise/core/workflow")
	check := func(line string) error {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "wrong.go", before+line+after, 0)
		require.NoError(t, err)
		_, err = (&types.Config{Importer: imports}).Check("wrong", files, []*ast.File{file}, nil)
		return err
	}
	require.NoError(t, check("return workflow.Execute(ctx, charge, order{})"), "the lines fail for what is wrong in them alone")
	for what, line := range map[string]string{
		"an activity's input":                     `_, _ = workflow.Execute(ctx, charge, "o-1")`,
		"an activity's result":                    `var n int; n, _ = workflow.Execute(ctx, charge, order{}); _ = n`,
		"a standard context in workflow code":     `_, _ = workflow.Execute(std, charge, order{})`,
		"an activity called without the engine":   `_, _ = charge(std, order{})`,
		"a child where an activity is called":     `_, _ = workflow.Execute(ctx, child, order{})`,
		"an activity where a child is started":    `_, _ = workflow.ExecuteChild(ctx, charge, order{})`,
		"a child's input":                         `_, _ = workflow.ExecuteChild(ctx, child, 7)`,
		"a step with workflow code":               `_, _ = workflow.Step(ctx, "s", func(ctx workflow.Context) (int, error) { return 1, nil })`,
		"a signal's value":                        `var s string; s, _ = workflow.AwaitSignal(ctx, approve); _ = s`,
		"a signal's handler":                      `workflow.HandleSignal(ctx, approve, func(workflow.Context, string) error { return nil })`,
		"an update handled like a signal":         `workflow.HandleSignal(ctx, amend, func(workflow.Context, order) error { return nil })`,
		"an update's answer":                      `workflow.HandleUpdate(ctx, amend, func(workflow.Context, order) (string, error) { return "", nil })`,
		"a validator that could wait":             `workflow.HandleUpdate(ctx, amend, func(workflow.Context, order) (int, error) { return 0, nil }, func(workflow.Context, order) error { return nil })`,
		"a query that could wait":                 `workflow.HandleQuery(ctx, peek, func(workflow.Context, string) (int, error) { return 0, nil })`,
		"an attribute's value":                    `workflow.SetAttributes(ctx, stage.Is(7))`,
		"an attribute without a value":            `workflow.SetAttributes(ctx, stage)`,
		"an attribute that cannot be searched by": `_ = workflow.NewAttribute[order]("o")`,
		"branches of different types":             `_, _ = workflow.Parallel(ctx, func(workflow.Context) (int, error) { return 1, nil }, func(workflow.Context) (string, error) { return "", nil })`,
		"a branch without a context":              `_ = workflow.Go(ctx, func() (int, error) { return 1, nil })`,
		"a plain value in a race":                 `_, _ = workflow.Race(ctx, 7)`,
		"a phase's state":                         `workflow.OnSignal(phase, approve, func(workflow.Context, bool, string) workflow.Next[string] { return workflow.Continue("") })`,
		"a signal's handler that answers":         `workflow.OnSignal(phase, approve, func(_ workflow.Context, _ bool, n int) workflow.Answer[int, int] { return workflow.Reply(1, n) })`,
		"an update's handler without an answer":   `workflow.OnUpdate(phase, amend, func(_ workflow.Context, _ order, n int) workflow.Next[int] { return workflow.Continue(n) })`,
		"the next generation's input":             `return workflow.ContinueAsNew(ctx, self, "o-1")`,
		"a continuation of another result":        `return workflow.ContinueAsNew(ctx, func(workflow.Context, order) (int, error) { return 0, nil }, order{})`,
		"a workflow without an error":             `_ = workflow.New("w", func(workflow.Context, order) receipt { return receipt{} })`,
		"an activity of a workflow's context":     `_ = activity.New("a", func(workflow.Context, order) (receipt, error) { return receipt{}, nil })`,
		"an implementation of other types":        `_ = charge.Implement(func(context.Context, string) (receipt, error) { return receipt{}, nil })`,
	} {
		require.Error(t, check(line), "%s compiles: %s", what, line)
	}
}

// compiled imports packages, and what they import, as the build cache has them: to check them again from source takes
// seconds.
func compiled(t *testing.T, packages ...string) types.Importer {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}"}, packages...)...)
	list.Stderr = os.Stderr
	output, err := list.Output()
	require.NoError(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(output)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) { return os.Open(files[name]) })
}
