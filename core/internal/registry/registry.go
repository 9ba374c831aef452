// Package registry holds what a program has, by name: workflows and activities in the form that the
// engine runs, and the types of what callers send.
package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Activity performs one attempt.
type Activity func(ctx context.Context, input history.Payload) (history.Payload, error)

// Registry is filled before the engine starts and does not change afterwards.
type Registry struct {
	workflows  map[string]scheduler.Entry
	activities map[string]Activity
	inputs     map[string]Type   // of workflows
	results    map[string]Type   // of activities
	signals    map[string][]Type // workflows may have signals of one name, each with its type
	errs       []error
}

// Definition is a workflow or an activity with its name and its code, or a signal with its type.
type Definition interface{ Define(into *Registry) }

// New registers definitions. Every problem is reported, not only the first.
func New(definitions ...Definition) (*Registry, error) {
	r := &Registry{workflows: map[string]scheduler.Entry{}, activities: map[string]Activity{},
		inputs: map[string]Type{}, results: map[string]Type{}, signals: map[string][]Type{}}
	for i, definition := range definitions {
		if isNil(definition) {
			r.errs = append(r.errs, fmt.Errorf("definition %d of %d is nil: a package variable may be used before it is set", i+1, len(definitions)))
			continue
		}
		definition.Define(r)
	}
	return r, errors.Join(r.errs...)
}

func isNil(definition Definition) bool {
	value := reflect.ValueOf(definition)
	return !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil()
}

// Workflow adds a workflow.
func (r *Registry) Workflow(name string, entry scheduler.Entry, input Type) {
	if r.check("workflow", name, entry != nil, r.workflows[name] != nil) {
		r.workflows[name], r.inputs[name] = entry, input
	}
}

// Activity adds an activity.
func (r *Registry) Activity(name string, perform Activity, result Type) {
	if r.check("activity", name, perform != nil, r.activities[name] != nil) {
		r.activities[name], r.results[name] = perform, result
	}
}

// Signal adds a signal.
func (r *Registry) Signal(name string, input Type) {
	if r.check("signal", name, true, false) {
		r.signals[name] = append(r.signals[name], input)
	}
}

const longestName = 100

func (r *Registry) check(what, name string, implemented, taken bool) bool {
	var err error
	switch {
	case name == "":
		err = fmt.Errorf("a %s without a name: the first argument of New is the name under which runs remember it", what)
	case len(name) > longestName:
		err = fmt.Errorf("%s %q: a name has at most %d bytes", what, name, longestName)
	case !implemented:
		err = fmt.Errorf("%s %q is declared, but has no implementation: register %s.Implement(function)", what, name, name)
	case taken:
		err = fmt.Errorf("%s %q is registered twice: names are what runs remember, each must be one thing", what, name)
	default:
		return true
	}
	r.errs = append(r.errs, err)
	return false
}

// FindWorkflow looks a workflow up.
func (r *Registry) FindWorkflow(name string) (scheduler.Entry, bool) {
	entry, ok := r.workflows[name]
	return entry, ok
}

// FindActivity looks an activity up.
func (r *Registry) FindActivity(name string) (Activity, bool) {
	perform, ok := r.activities[name]
	return perform, ok
}

// Signals lists their names in order.
func (r *Registry) Signals() []string { return slices.Sorted(maps.Keys(r.signals)) }

// Workflows lists their names in order.
func (r *Registry) Workflows() []string { return slices.Sorted(maps.Keys(r.workflows)) }

// Activities lists their names in order.
func (r *Registry) Activities() []string { return slices.Sorted(maps.Keys(r.activities)) }
