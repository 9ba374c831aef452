package template

import (
	"go/types"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

const module = "github.com/reprise-run/reprise/"

// services are the interfaces through which adapters call AWS, by the package that declares them.
var services = map[string]string{module + "infra/aws/dynamo": "dynamodb", module + "infra/aws/sqs": "sqs", module + "infra/aws/s3": "s3",
	module + "infra/aws/kms": "kms"}

// reach finds what code can come to from a main function: what it calls, what it makes a value of, and, where it calls through an interface,
// every type of ours that is made and fits.
type reach struct {
	program *ssa.Program
	seen    map[*ssa.Function]bool
	made    []types.Type // types of ours with methods
	calls   map[string]bool
}

// callsOf is worked out once for all tests: it takes seconds.
var callsOf = func() func(t *testing.T) map[string]map[string]bool {
	var once sync.Once
	var found map[string]map[string]bool
	return func(t *testing.T) map[string]map[string]bool {
		t.Helper()
		once.Do(func() { found = findCalls(t) })
		require.NotEmpty(t, found)
		return found
	}
}()

// findCalls gives the calls of AWS that each function's code can come to, as "sqs:SendMessageBatch".
func findCalls(t *testing.T) map[string]map[string]bool {
	t.Helper()
	config := &packages.Config{Mode: packages.LoadSyntax, Dir: "../..", Env: append(os.Environ(), "GOFLAGS=-tags=lambda.norpc")}
	loaded, err := packages.Load(config, "./functions/...", "./core/...", "./infra/...", "./workflows/...")
	require.NoError(t, err)
	require.Zero(t, packages.PrintErrors(loaded))
	program, all := ssautil.Packages(loaded, ssa.InstantiateGenerics)
	program.Build()
	byFunction := map[string]map[string]bool{}
	for _, pkg := range all {
		if pkg != nil && pkg.Pkg.Name() == "main" {
			r := &reach{program: program, seen: map[*ssa.Function]bool{}, calls: map[string]bool{}}
			r.collect(pkg, all)
			r.follow(pkg.Func("main"))
			byFunction[path.Base(pkg.Pkg.Path())] = r.calls
		}
	}
	return byFunction
}

// collect finds the types of the packages that a main imports, by whatever way.
func (r *reach) collect(main *ssa.Package, all []*ssa.Package) {
	imported := map[*types.Package]bool{}
	var add func(*types.Package)
	add = func(p *types.Package) {
		if imported[p] || !strings.HasPrefix(p.Path(), module) {
			return
		}
		imported[p] = true
		for _, next := range p.Imports() {
			add(next)
		}
	}
	add(main.Pkg)
	for _, pkg := range all {
		if pkg == nil || !imported[pkg.Pkg] {
			continue
		}
		for _, member := range pkg.Members {
			if named, ok := member.(*ssa.Type); ok && !types.IsInterface(named.Type()) {
				r.made = append(r.made, named.Type(), types.NewPointer(named.Type()))
			}
		}
	}
}

func (r *reach) follow(function *ssa.Function) {
	if function == nil || r.seen[function] {
		return
	}
	r.seen[function] = true
	for _, block := range function.Blocks {
		for _, instruction := range block.Instrs {
			if call, ok := instruction.(ssa.CallInstruction); ok && call.Common().IsInvoke() {
				r.invoke(call.Common())
			}
			for _, operand := range instruction.Operands(nil) {
				switch value := (*operand).(type) {
				case *ssa.Function:
					r.follow(value)
				case *ssa.MakeClosure:
					r.follow(value.Fn.(*ssa.Function))
				}
			}
		}
	}
}

// invoke follows a call through an interface.
func (r *reach) invoke(call *ssa.CallCommon) {
	if named, ok := call.Value.Type().(*types.Named); ok && named.Obj().Name() == "Client" && named.Obj().Pkg() != nil {
		if service, ok := services[named.Obj().Pkg().Path()]; ok {
			r.calls[service+":"+call.Method.Name()] = true
			return
		}
	}
	face, ok := call.Value.Type().Underlying().(*types.Interface)
	if !ok {
		return
	}
	for _, made := range r.made {
		if types.Implements(made, face) {
			if selection := r.program.MethodSets.MethodSet(made).Lookup(call.Method.Pkg(), call.Method.Name()); selection != nil {
				r.follow(r.program.MethodValue(selection))
			}
		}
	}
}
