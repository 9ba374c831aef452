package script

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"modernc.org/quickjs"

	"github.com/reprise-run/reprise/core/internal/suggest"
)

// check compiles the script, and lists its mistakes. The engine that runs the script says whether its
// syntax is right, but it stops at the first mistake, and looks at no names: a parser finds the rest.
func (s *Script) check(name string) (problems Problems) {
	if at := nameless.FindStringIndex(s.source.compiled); at != nil {
		line := 1 + strings.Count(s.source.compiled[:at[1]], "\n")
		return Problems{{Line: line, Column: 1, Message: fmt.Sprintf(
			"a workflow has a name, and takes its inputs alone: write workflow %s(inputs) {…}", identifier(name))}}
	}
	var err error
	s.program, err = compile(s.source.compiled, s.flags())
	if err != nil {
		problems = append(problems, s.syntax(err))
	}
	files := &file.FileSet{}
	// The parser does not know this loop, which declares the same names without the word.
	text := forAwait.ReplaceAllStringFunc(s.source.compiled, blank)
	tree, err := parser.ParseFile(files, s.source.file, text, 0)
	if err != nil {
		if len(problems) == 0 {
			return nil // the engine knows more of the language than the parser
		}
		return s.arranged(append(problems, s.parserProblems(err)...))
	}
	if len(problems) == 0 {
		var problem string
		if s.function, problem = s.workflowIn(tree, name); problem != "" {
			problems = append(problems, Problem{Message: problem})
		}
	}
	return s.arranged(append(problems, s.unknownNames(tree, files)...))
}

var forAwait = regexp.MustCompile(`\bfor\s+await\b`)

// blank keeps the length of a text, and its first word.
func blank(text string) string { return strings.Replace(text, "await", "     ", 1) }

func (s *Script) syntax(err error) Problem {
	var e *quickjs.Error
	if !errors.As(err, &e) {
		return Problem{Message: err.Error()}
	}
	line, column := s.source.place(e.LineNumber, e.ColumnNumber)
	return Problem{line, column, e.Message}
}

// parserProblems are further mistakes of the syntax. What follows from running into the end says
// nothing new.
func (s *Script) parserProblems(err error) (problems Problems) {
	var list parser.ErrorList
	if !errors.As(err, &list) {
		return nil
	}
	for _, e := range list {
		if strings.Contains(e.Message, "end of input") {
			continue
		}
		line, column := s.source.place(e.Position.Line, e.Position.Column)
		message := strings.Replace(e.Message, "Unexpected token ILLEGAL", "unexpected character", 1)
		problems = append(problems, Problem{line, column, message})
	}
	return problems
}

// arranged sorts problems, and keeps the first of each line: one mistake is often found twice.
func (s *Script) arranged(problems Problems) Problems {
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	problems = slices.CompactFunc(problems, func(a, b Problem) bool {
		return a.Line == b.Line && a.Line > 0 && !isName(a) && !isName(b)
	})
	return problems[:min(len(problems), mostProblems)]
}

const unknownName = "unknown name "

func isName(p Problem) bool { return strings.HasPrefix(p.Message, unknownName) }

// unknownNames lists names that nothing declares. In the workflow spelling, an assignment declares a
// name: it is a variable of the run (S2.14).
func (s *Script) unknownNames(tree *ast.Program, files *file.FileSet) (problems Problems) {
	var near suggest.Suggester
	for _, u := range unknown(tree, globals, s.source.spelled != "") {
		at := files.Position(u.at)
		line, column := s.source.place(at.Line, at.Column)
		message := fmt.Sprintf("%s%s", unknownName, u.name)
		switch {
		case absent[u.name] != "":
			message = fmt.Sprintf("a script has no %s: %s", u.name, absent[u.name])
		case u.write:
			message += ": declare it, let " + u.name
		default:
			if known := near.Nearest(u.name, append(slices.Sorted(u.scope.names()), globals...)); known != "" {
				message += fmt.Sprintf(": did you mean %s?", known)
			}
		}
		problems = append(problems, Problem{line, column, message})
	}
	return problems
}

// absent are names that authors expect, and what to write in their place.
var absent = map[string]string{
	"setTimeout": "await Task.delay(seconds)", "setInterval": "await Task.delay(seconds) in a loop",
	"setImmediate": "await Task.delay(0)", "fetch": "a task makes requests, Task.run(name, inputs)",
	"require": "a script is one file", "process": "a script knows nothing of its machine",
	"module": "a script is one file", "exports": "a script is one file",
	"window": "a script runs on a server", "document": "a script runs on a server",
	"eval": "it cannot make code of text", "Function": "it cannot make code of text",
	"Proxy": "use an object or a function", "Intl": "its results depend on the machine",
	"performance": "use Workflow.now()", "crypto": "use Workflow.uuid() or Workflow.random()",
	"WeakRef":              "when memory is collected differs from run to run",
	"FinalizationRegistry": "when memory is collected differs from run to run",
	"SharedArrayBuffer":    "a script has one thread", "Atomics": "a script has one thread",
	"structuredClone": "use JSON.parse(JSON.stringify(value))",
}
