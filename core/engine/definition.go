package engine

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// A run's code is the program's own, or a published definition. A generation is pinned to one
// version of a definition: at its start, or, if none was published then, by its first record.

// Interpreter makes a workflow of this name from a source. The same source must always make the
// same workflow. It is called for several at a time.
type Interpreter func(name, source string) (workflow.Definition, error)

// code finds the code of a workflow in the version that a generation is pinned to, and that version.
// Version 0 is not pinned: then it is the program's own code, else the highest published version.
func (e *Engine) code(ctx context.Context, name string, version int) (scheduler.Entry, int, error) {
	if version == 0 {
		if entry, ok := e.registry.FindWorkflow(name); ok {
			return entry, 0, nil
		}
		found, err := e.findDefinition(ctx, name, 0)
		if err != nil {
			return nil, 0, err
		}
		version = found.Version
	}
	entry, err := e.interpreted(ctx, name, version)
	return entry, version, err
}

// findDefinition finds a version that the catalog has; that it has none blocks a run.
func (e *Engine) findDefinition(ctx context.Context, name string, version int) (*port.Definition, error) {
	if e.Catalog == nil {
		return nil, e.unregistered(name)
	}
	found, err := e.Catalog.FindDefinition(ctx, name, version)
	if errors.Is(err, port.ErrNoDefinition) {
		return nil, e.unregistered(name)
	}
	return found, err
}

// interpreted makes the code of a version, or has it already.
func (e *Engine) interpreted(ctx context.Context, name string, version int) (scheduler.Entry, error) {
	key := pin{name, version}
	if entry, ok := e.parsed.get(key); ok {
		return entry, nil
	}
	if e.Catalog == nil {
		return nil, missing(key)
	}
	definition, err := e.Catalog.Definition(ctx, name, version)
	if errors.Is(err, port.ErrNoDefinition) {
		return nil, missing(key)
	}
	if err != nil {
		return nil, err
	}
	entry, err := e.interpret(definition)
	if err == nil {
		e.parsed.put(key, entry)
	}
	return entry, err
}

// interpret makes code of a definition. An error blocks a run.
func (e *Engine) interpret(definition *port.Definition) (scheduler.Entry, error) {
	invalid := func(err error) error {
		return &blockedError{reason: port.ReasonDefinition, message: fmt.Sprintf("version %d of definition %q, of kind %s, cannot be interpreted: %v. "+
			"Deploy a program that can, then unblock the run; or reset the run to another version",
			definition.Version, definition.Name, definition.Kind, err)}
	}
	interpreter, ok := e.config.Interpreters[definition.Kind]
	if !ok {
		return nil, invalid(fmt.Errorf("nothing here interprets this kind"))
	}
	made, err := interpreter(definition.Name, definition.Source)
	if err != nil {
		return nil, invalid(err)
	}
	known, err := registry.New(made)
	if err != nil {
		return nil, invalid(err)
	}
	entry, ok := known.FindWorkflow(definition.Name)
	if !ok {
		return nil, invalid(errors.New("it makes no workflow of this name"))
	}
	return entry, nil
}

func missing(of pin) error {
	return &blockedError{reason: port.ReasonUnregistered, needs: of, message: fmt.Sprintf("the run needs version %d of definition %q, which is not in the catalog: "+
		"publish it again under this number, or reset the run to another version", of.version, of.name)}
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

// definitionOf is the version that the present generation is pinned to; 0: it is not, or it runs the
// program's own code.
func definitionOf(view *port.View) int {
	if len(view.Records) == 0 {
		if start := view.Start(); start != nil {
			return start.Definition
		}
		return 0
	}
	if started := startedIn(view.Records); started != nil {
		return started.Definition
	}
	return 0
}

// startedIn is the start in the first of a generation's records; nil if there is none.
func startedIn(records []*history.Record) *history.Started {
	if len(records) == 0 {
		return nil
	}
	for _, event := range records[0].Events {
		if started, ok := event.(*history.Started); ok {
			return started
		}
	}
	return nil
}

// pin is a version of a definition.
type pin struct {
	name    string
	version int
}

// mostParsed is how many definitions are kept parsed: the ones that were asked for last.
const mostParsed = 200

// parsedDefinitions keep the code of definitions. The zero value is ready for use.
type parsedDefinitions struct {
	mu     sync.Mutex
	recent list.List // of *parsedDefinition, the last one asked for in front
}

type parsedDefinition struct {
	pin
	entry scheduler.Entry
}

func (p *parsedDefinitions) get(key pin) (scheduler.Entry, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := p.recent.Front(); at != nil; at = at.Next() {
		if known := at.Value.(*parsedDefinition); known.pin == key {
			p.recent.MoveToFront(at)
			return known.entry, true
		}
	}
	return nil, false
}

func (p *parsedDefinitions) put(key pin, entry scheduler.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent.PushFront(&parsedDefinition{key, entry})
	if p.recent.Len() > mostParsed {
		p.recent.Remove(p.recent.Back())
	}
}

// Kinds lists the kinds of definitions that are interpreted here.
func (e *Engine) Kinds() []string {
	kinds := make([]string, 0, len(e.config.Interpreters))
	for kind := range e.config.Interpreters { // order-insensitive: it is sorted
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}
