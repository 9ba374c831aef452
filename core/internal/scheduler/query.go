package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// HandleQuery has questions of this name answered.
func (u *Unit) HandleQuery(name string, query Query) {
	u.effects("HandleQuery")
	if u.run.queries == nil {
		u.run.queries = map[string]Query{}
	}
	u.run.queries[name] = query
}

// UnknownQuery says that nothing answers a query, and what could be asked instead.
type UnknownQuery struct {
	Name  string
	Known []string
}

func (e *UnknownQuery) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no query %q: this run answers none", e.Name)
	}
	return fmt.Sprintf("no query %q: this run answers %s", e.Name, strings.Join(e.Known, ", "))
}

// Ask answers a query from the state between two activations. It is an activation of its own, which advances nothing and
// records nothing (S1.26). An error of the query's own code comes back as it is, a panic as a failure.
func (r *Run) Ask(name string, input history.Payload) (history.Payload, error) {
	if r.err != nil {
		return nil, r.err
	}
	query := r.queries[name]
	if query == nil {
		return nil, &UnknownQuery{Name: name, Known: sortedNames(r.queries)}
	}
	var result history.Payload
	u := &Unit{run: r, path: Path{{handle, -1}}, name: "query " + name, readOnly: true, asks: true}
	u.body = func(*Unit) (_ any, err error) {
		result, err = query(input)
		return nil, err
	}
	u.co.start(u.main)
	r.running.Store(u)
	if u.co.resume() {
		u.co.stop() // it was halted
	}
	r.running.Store(nil)
	if err := r.err; err != nil {
		r.err = nil // nothing was emitted, nothing has advanced: the run is as good as before
		return nil, err
	}
	return result, u.err
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
