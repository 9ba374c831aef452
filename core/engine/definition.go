package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// A run's code is the program's own, or a published definition. A generation is pinned to one
// version of a definition: at its start, or, if none was published then, by its first record.

// Interpreter makes a workflow of this name from a source. The same source must always make the
// same workflow. It is called for several at a time.
type Interpreter func(name, source string) (workflow.Definition, error)

// Fitting is what an interpreter's workflow may have, too. Its errors say why an input, or a signal
// of this name, is of no use to the workflow. What is of no use is refused when it is sent.
type Fitting interface {
	FitsInput(input history.Payload) error
	FitsSignal(name string, input history.Payload) error
}

// Kinds lists the kinds of definitions that are interpreted here.
func (e *Engine) Kinds() []string { return slices.Sorted(maps.Keys(e.config.Interpreters)) }

// pin is a version of a definition.
type pin struct {
	name    string
	version int
}

// code finds the code of a workflow in the version that a generation is pinned to. Version 0 is not
// pinned: then it is the program's own code, else the highest published version. The caller
// releases the code.
func (e *Engine) code(ctx context.Context, of pin) (*code, error) {
	if of.version == 0 {
		if entry, ok := e.registry.FindWorkflow(of.name); ok {
			return &code{made: made{entry: entry}}, nil
		}
		found, err := e.findDefinition(ctx, of)
		if errors.Is(err, port.ErrNoDefinition) {
			return nil, e.unregistered(of.name)
		}
		if err != nil {
			return nil, err
		}
		of.version = found.Version
	}
	if known := e.codes.take(of); known != nil {
		return known, nil
	}
	definition, err := e.readDefinition(ctx, of)
	if errors.Is(err, port.ErrNoDefinition) {
		return nil, missing(of)
	}
	if err != nil {
		return nil, err
	}
	return e.codes.add(of, len(definition.Source), func() (made, error) {
		return e.interpret(definition)
	})
}

// fits refuses what a caller sends to a run of a published definition, if it does not fit. Nothing
// is refused where the definition cannot be interpreted: the run is then blocked.
func (e *Engine) fits(
	ctx context.Context, of pin, what string, value history.Payload,
	fits func(Fitting, history.Payload) error,
) error {
	if of.version == 0 {
		return nil
	}
	code, err := e.code(ctx, of)
	defer code.release()
	switch blocked := (*blockedError)(nil); {
	case errors.As(err, &blocked):
		return nil
	case err != nil:
		return e.unavailable(err, "the definition was not read")
	case code.fitting == nil:
		return nil
	}
	return e.fitting.check(what, of.name, value, func(_ string, value history.Payload) error {
		return fits(code.fitting, value)
	})
}

// interpret makes code of a definition. An error blocks a run.
func (e *Engine) interpret(definition *port.Definition) (done made, err error) {
	invalid := func(err error) error {
		return &blockedError{reason: port.ReasonDefinition, message: fmt.Sprintf(
			"version %d of definition %q, of kind %s, cannot be interpreted: %v. "+
				"Deploy a program that can, then unblock the run; or reset the run to another "+
				"version",
			definition.Version, definition.Name, definition.Kind, err)}
	}
	interpreter, ok := e.config.Interpreters[definition.Kind]
	if !ok {
		return done, invalid(errors.New("this program does not interpret this kind"))
	}
	defined, err := interpreter(definition.Name, definition.Source)
	if err != nil {
		return done, invalid(err)
	}
	known, err := registry.New(defined)
	if err != nil {
		return done, invalid(err)
	}
	if done.entry, ok = known.FindWorkflow(definition.Name); !ok {
		return done, invalid(errors.New("it makes no workflow of this name"))
	}
	done.fitting, _ = defined.(Fitting)
	return done, nil
}

func missing(of pin) error {
	return &blockedError{reason: port.ReasonUnregistered, needs: of, message: fmt.Sprintf(
		"the run needs version %d of definition %q, which is not in the catalog: "+
			"publish the same source again under this number, or reset the run to another version",
		of.version, of.name)}
}

// hasVersion says whether a live run has the version that its generation is pinned to. A query may
// have made the run before the first record pinned the generation, perhaps to another version.
func (l *live) hasVersion(view *port.View) bool {
	if l.position.Record > 0 {
		return true
	}
	version := definitionOf(view)
	return version == l.definition || version == 0 && len(view.Records) == 0
}

// pinned notes the version that a generation runs in its start, if nothing did so before: the
// first record then has it.
func pinned(view *port.View, version int) {
	if start := view.Start(); start != nil && len(view.Records) == 0 {
		start.Definition = version
	}
}

// definitionOf is the version that the present generation is pinned to; 0: it is not, or it runs
// the program's own code.
func definitionOf(view *port.View) int {
	if started := view.Started(); started != nil {
		return started.Definition
	}
	return 0
}
