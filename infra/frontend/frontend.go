// Package frontend lists what interprets published definitions, for every program that runs them:
// the server, the functions, and a replay.
package frontend

import (
	"errors"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/script"
	"github.com/reprise-run/reprise/core/workflow"
)

// The kinds of definitions.
const (
	Flow   = "flow"   // JSON flows: see package core/flow
	Script = "script" // JavaScript: see package core/script
)

// Interpreters gives the interpreter of each kind.
func Interpreters() map[string]engine.Interpreter {
	return map[string]engine.Interpreter{Flow: interpretFlow, Script: interpretScript}
}

// KindOf is the kind of a file with this extension, which begins with a dot. Empty: no kind has it.
func KindOf(extension string) string {
	return map[string]string{".json": Flow, ".js": Script}[extension]
}

// publishedFlow refuses what is of no use to a flow before a run gets it: see [engine.Fitting].
type publishedFlow struct{ *flow.Payloads }

func (publishedFlow) FitsInput(input history.Payload) error { return flow.FitsInput(input) }

func (publishedFlow) FitsSignal(name string, input history.Payload) error {
	return flow.FitsSignal(name, input)
}

func interpretFlow(name, source string) (workflow.Definition, error) {
	made, err := flow.Workflow(name, []byte(source))
	if err == nil {
		return publishedFlow{made}, nil
	}
	found := flow.Problems(nil)
	if !errors.As(err, &found) {
		return nil, err
	}
	problems := make(port.SourceProblems, len(found))
	for i, problem := range found {
		problems[i] = port.SourceProblem{Pointer: problem.Pointer, Message: problem.Message}
	}
	return nil, problems
}

func interpretScript(name, source string) (workflow.Definition, error) {
	made, err := script.Interpret(name, source)
	if err == nil {
		return made, nil
	}
	found := script.Problems(nil)
	if !errors.As(err, &found) {
		return nil, err
	}
	problems := make(port.SourceProblems, len(found))
	for i, p := range found {
		problems[i] = port.SourceProblem{Message: p.Message, Line: p.Line, Column: p.Column}
	}
	return nil, problems
}
