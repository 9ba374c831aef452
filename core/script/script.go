// Package script runs workflows that are written in JavaScript.
//
// A script is a workflow in one text file (seed 002):
//
//	async function order(inputs) {
//		const paid = await Task.run("charge", inputs.card);
//		await Task.delay(3600);
//		return await Task.run("ship", paid.id);
//	}
//
// The function may also be spelled workflow order(inputs) {…}: then an assignment declares a variable.
// The file reprise.d.ts lists what a script can call.
//
// A script is deterministic. Date, Math.random and the order of its tasks are those of the run, so
// that a replay takes the same way. Times are UTC. Names that could differ from machine to machine are
// absent: Proxy, Intl, WeakRef, eval and others, which the checks name with what to write instead.
//
// Each run has a sandbox: a JavaScript engine of its own, which reaches the workflow API of this module
// and nothing else. A script that computes for [MaxTurn] without waiting, or that holds more than
// [MaxMemory], blocks its run with the place in the script. The run continues with a version of the
// script that does not.
//
// An error that a script does not catch fails the run, with the script's stack. A failed task throws a
// TaskError, TimeoutError or CancelledError. A task has three attempts unless its options say otherwise.
//
// The files tell how it works in the order script.go, check.go, sandbox.go, prelude.js, run.go,
// calls.go, failure.go.
package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja/ast"
	"modernc.org/quickjs"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// MaxSource is how long a script may be, in bytes.
const MaxSource = 256 << 10

// Script is a checked and compiled script. Several runs may use it at a time.
type Script struct {
	source   source
	function string // the workflow function
	program  program
	turn     time.Duration // [MaxTurn], and less in tests
}

// Parse checks and compiles a script. Its workflow function has the name, or is the only async function
// at the top level. Positions have the name, too, as that of a file. The error is of type [Problems].
func Parse(name, text string) (*Script, error) {
	if len(text) > MaxSource {
		return nil, Problems{{Message: fmt.Sprintf("the script has %d bytes, the limit is %d", len(text), MaxSource)}}
	}
	s := &Script{source: read(name, text), turn: MaxTurn}
	problems := s.check(name)
	if len(problems) > 0 {
		return nil, problems
	}
	return s, nil
}

// Interpret makes a workflow of a published script: it is what an engine needs to run definitions of
// the kind "script". The error is of type [Problems].
func Interpret(name, text string) (workflow.Definition, error) {
	s, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	return s.Workflow(name), nil
}

// Workflow makes a workflow of the script, under this name.
func (s *Script) Workflow(name string) *workflow.Workflow[history.Payload, history.Payload] {
	return workflow.New(name, s.run)
}

// source is a script's text, and the text that the JavaScript engine compiles: in the latter, the
// workflow spelling of a function is spelled as an async function.
type source struct {
	file     string
	compiled string
	spelled  string // the function in the workflow spelling; empty: there is none
	// The compiled header is longer by shift columns, from column after on in line.
	line, after, shift int
}

const (
	spelling = "workflow"
	meaning  = "async function"
)

var (
	header   = regexp.MustCompile(`(?m)^[ \t]*(workflow)[ \t]+([A-Za-z_$][\w$]*)[ \t]*\(`)
	nameless = regexp.MustCompile(`(?m)^[ \t]*(workflow)[ \t]*\(`)
)

// read finds the workflow spelling.
func read(name, text string) source {
	s := source{file: name + ".js", compiled: text}
	found := header.FindStringSubmatchIndex(text)
	if found == nil {
		return s
	}
	from, to := found[2], found[3]
	s.spelled = text[found[4]:found[5]]
	s.compiled = text[:from] + meaning + text[to:]
	s.line = 1 + strings.Count(text[:from], "\n")
	s.after = from - (strings.LastIndexByte(text[:from], '\n') + 1) + len(meaning)
	s.shift = len(meaning) - len(spelling)
	return s
}

// place is a place in the text that the author wrote, for one in the compiled text.
func (s *source) place(line, column int) (int, int) {
	if line == s.line && column > s.after {
		column -= s.shift
	}
	return line, column
}

func (s *source) position(line, column int) string {
	line, column = s.place(line, column)
	return fmt.Sprintf("%s:%d:%d", s.file, line, column)
}

// workflowIn finds the workflow function among the functions at the top level.
func (s *Script) workflowIn(program *ast.Program, name string) (function string, problem string) {
	var async []string
	for _, statement := range program.Body {
		if f, ok := statement.(*ast.FunctionDeclaration); ok && f.Function.Async && !f.Function.Generator {
			async = append(async, string(f.Function.Name.Name))
		}
	}
	switch {
	case s.source.spelled != "" && slices.Contains(async, s.source.spelled):
		return s.source.spelled, ""
	case slices.Contains(async, name):
		return name, ""
	case len(async) == 1:
		return async[0], ""
	case len(async) == 0:
		return "", fmt.Sprintf("the script has no workflow: write async function %s(inputs) {…} at its top level", identifier(name))
	}
	return "", fmt.Sprintf("which of the functions %s is the workflow? Name it like the definition, %s",
		strings.Join(async, ", "), identifier(name))
}

var notInNames = regexp.MustCompile(`[^\w$]+`)

// identifier is a name that a function may have.
func identifier(name string) string { return strings.Trim(notInNames.ReplaceAllString(name, "_"), "_") }

func (s *Script) flags() int {
	if s.source.spelled != "" {
		return quickjs.EvalGlobal
	}
	return quickjs.EvalGlobal | strict
}
