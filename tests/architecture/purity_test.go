package architecture

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pure are the packages in which the same input must give the same output, on every machine and at every time.
var pure = []string{"core/history", "core/internal/machine", "core/internal/scheduler", "core/internal/registry", "core/workflow", "core/activity", "core/flow", "core/flow/expr", "core/flow/graph", "core/script"}

// coroutines is the one file that makes a goroutine and waits for it.
const coroutines = "core/internal/scheduler/coroutine.go"

// withContext are the files that have context.Context in the types of author's functions, and hand them on without
// looking: activities, steps.
var withContext = []string{
	"core/activity/activity.go", "core/activity/attempt.go", "core/workflow/activity.go", "core/internal/registry/registry.go",
	"core/internal/machine/operation.go", "core/internal/scheduler/run.go",
}

// banned imports, with all packages below them.
var banned = map[string]string{
	"os": "the core does no I/O", "net": "the core does no I/O", "log": "the core returns what happened, and its caller logs",
	"crypto/rand": "randomness comes in with the activation", "math/rand": "its sequence may change; math/rand/v2 takes a seed",
	"testing": "it brings its flags into every binary", "context": "the core cannot be cancelled from outside; cancellation is an event",
	"sync": "one goroutine at a time runs a run: there is nothing to lock",
}

// forbidden functions by package. Of math/rand/v2, those are allowed that take a seed or a source.
var forbidden = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"runtime": {"NumGoroutine", "NumCPU", "GOMAXPROCS", "Gosched"},
}

var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf"}

// What is imported is read once for both tests: that takes most of their time.
var (
	fset    = token.NewFileSet()
	imports = importer.ForCompiler(fset, "source", nil)
)

// checker looks at the files of one package.
type checker struct {
	info  *types.Info
	file  string // relative to the module
	lines map[int]string
	found []string
}

func (c *checker) report(at token.Pos, format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("%s:%d: %s", c.file, fset.Position(at).Line, fmt.Sprintf(format, args...)))
}

// impure lists what is not pure in the sources of one package, given by their path in the module.
func impure(sources map[string][]byte) ([]string, error) {
	var files []*ast.File
	var names []string
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, sources[name], parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: imports}).Check("p", fset, files, info); err != nil {
		return nil, err
	}
	var found []string
	for i, file := range files {
		c := &checker{info: info, file: names[i], lines: map[int]string{}}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				c.lines[fset.Position(comment.Pos()).Line] = comment.Text
			}
		}
		c.imports(file)
		ast.Inspect(file, c.visit)
		found = append(found, c.found...)
	}
	return found, nil
}

func (c *checker) imports(file *ast.File) {
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		for folder, why := range banned {
			if !within(path, folder) || path == "math/rand/v2" || path == "sync/atomic" ||
				path == "context" && slices.Contains(withContext, c.file) {
				continue
			}
			c.report(spec.Pos(), "imports %s: %s", path, why)
		}
	}
}

func (c *checker) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
		c.concurrent(node, strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", node), "*ast."), "Stmt")))
	case *ast.UnaryExpr:
		if node.Op == token.ARROW {
			c.concurrent(node, "receive")
		}
	case *ast.RangeStmt:
		c.ranges(node)
	case *ast.Ident:
		c.uses(node)
	}
	return true
}

func (c *checker) concurrent(node ast.Node, what string) {
	if c.file != coroutines {
		c.report(node.Pos(), "%s: the order of goroutines must not show", what)
	}
}

func (c *checker) ranges(node *ast.RangeStmt) {
	switch c.info.Types[node.X].Type.Underlying().(type) {
	case *types.Chan:
		c.concurrent(node, "range over a channel")
		return
	case *types.Map:
	default:
		call, ok := node.X.(*ast.CallExpr)
		if !ok || !c.unordered(call) {
			return
		}
	}
	const mark = "order-insensitive:"
	_, reason, marked := strings.Cut(c.lines[fset.Position(node.Pos()).Line], mark)
	if !marked || strings.TrimSpace(reason) == "" {
		c.report(node.Pos(), "range over a map: go over sorted keys, or say on the line why the order does not matter: // %s …", mark)
	}
}

// unordered says whether a call gives the members of a map in no order: maps.Keys, Values, All.
func (c *checker) unordered(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	function, ok := c.info.Uses[selector.Sel].(*types.Func)
	return ok && function.Pkg() != nil && function.Pkg().Path() == "maps" && slices.Contains([]string{"Keys", "Values", "All"}, function.Name())
}

func (c *checker) uses(node *ast.Ident) {
	function, ok := c.info.Uses[node].(*types.Func)
	if !ok || function.Pkg() == nil || function.Signature().Recv() != nil {
		return
	}
	path := function.Pkg().Path()
	if slices.Contains(forbidden[path], function.Name()) || path == "math/rand/v2" && !slices.Contains(seeded, function.Name()) {
		c.report(node.Pos(), "%s.%s: time and chance come in with the activation", path, function.Name())
	}
}

func TestCoreIsPure(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, pkg := range pure {
		sources := map[string][]byte{}
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			sources[pkg+"/"+filepath.Base(file)] = text
		}
		require.NotEmpty(t, sources, pkg)
		found, err := impure(sources)
		require.NoError(t, err)
		for _, finding := range found {
			t.Error(finding)
		}
	}
}

// TestPurityCanFail plants each thing that must not be there, and one that may, and looks what is found.
func TestPurityCanFail(t *testing.T) {
	find := func(file, source string) string {
		found, err := impure(map[string][]byte{file: []byte(source)})
		require.NoError(t, err)
		return strings.Join(found, "\n")
	}
	const file = "core/internal/scheduler/planted.go"
	for body, want := range map[string]string{
		`func f() { go f() }`: "go:", `func f(c chan int) {}`: "chantype:", `var c = make(chan int)`: "chantype:",
		`type c = chan int; func f(x c) { x <- 1 }`: "send:", `type c = chan int; func f(x c) { <-x }`: "receive:",
		`type c = chan int; func f(x c) { for range x {} }`: "range over a channel", `func f() { select {} }`: "select:",
		`import "time"; var t = time.Now()`: "time.Now", `import "time"; func f() { time.Sleep(1) }`: "time.Sleep", `import clock "time"; var now = clock.Now`: "time.Now",
		`import . "time"; var t = After(1)`: "time.After", `import "time"; var t = time.NewTimer(1)`: "time.NewTimer", `import "time"; var t = time.Since(time.Time{})`: "time.Since",
		`import "math/rand/v2"; var n = rand.Int()`: "math/rand/v2.Int", `import "math/rand"; var n = rand.Int()`: "imports math/rand:",
		`import "crypto/rand"; var n = rand.Reader`: "imports crypto/rand", `import "os"; var e = os.Args`: "imports os:", `import "net/http"; var c http.Client`: "imports net/http:",
		`import "log/slog"; var l = slog.Default()`: "imports log/slog", `import "context"; var c context.Context`: "imports context", `import "sync"; var l sync.Mutex`: "imports sync:",
		`func f(m map[int]int) { for range m {} }`: "range over a map", `type t map[int]int; func f(m t) { for k := range m { _ = k } }`: "range over a map",
		`import "maps"; func f(m map[int]int) { for k := range maps.Keys(m) { _ = k } }`:      "range over a map",
		"func f(m map[int]int) {\nfor range m { // order-insensitive:\n}\n}":                  "range over a map",
		"func f(m map[int]int) {\n// order-insensitive: on another line\nfor range m {\n}\n}": "range over a map",
	} {
		require.Contains(t, find(file, "package p; "+body), want, body)
	}
	for _, body := range []string{
		"func f(m map[int]int) {\nfor range m { // order-insensitive: they are only counted\n}\n}", `func f(s []int) { for range s {} }`,
		`import ("maps"; "slices"); func f(m map[int]int) { for _, k := range slices.Sorted(maps.Keys(m)) { _ = k } }`,
		`import "math/rand/v2"; var r = rand.New(rand.NewPCG(1, 2)).Int()`, `import "time"; var d = time.Duration(1).String()`, `import "sync/atomic"; var n atomic.Int64`,
	} {
		require.Empty(t, find(file, "package p; "+body), body)
	}
	require.Empty(t, find(coroutines, "package p; func f() { go f(); c := make(chan int); <-c }"), "the one file")
	require.NotEmpty(t, find(coroutines, `package p; import "time"; var t = time.Now()`), "it may do nothing else")
	require.Empty(t, find(withContext[0], `package p; import "context"; var f func(context.Context)`))
}
