package flow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
)

// State is what a run of a flow shows of itself. The run publishes it whenever it changes, without
// large values of the shared state. The query "state" gives it whole.
type State struct {
	// Node is the key of the node that runs, and Path the subflows around it, outermost first. Both
	// are empty once the flow has ended.
	Node string   `json:"node"`
	Path []string `json:"path,omitempty"`
	Kind Kind     `json:"kind,omitempty"`
	// Action is that of the last node that ended.
	Action string `json:"action"`
	// Steps counts the nodes that were entered, those of subflows too.
	Steps  int                        `json:"steps"`
	Shared map[string]json.RawMessage `json:"shared"`
	// Omitted are the sizes in bytes of members of the shared state that are too large to be
	// published. More counts further members, of any size, that are left out.
	Omitted map[string]int `json:"omitted,omitempty"`
	More    int            `json:"more,omitempty"`
	// WaitsFor is the reference that a waiting node looks at, and Due when it or a timer ends.
	WaitsFor string    `json:"waitsFor,omitempty"`
	Due      time.Time `json:"due,omitzero"`
	// Changed is when the run published the state. The query leaves it out.
	Changed time.Time `json:"changed,omitzero"`
	// Calls is the progress of a foreach or a parallel. Only the query has it.
	Calls *Calls `json:"calls,omitempty"`
}

// Calls counts the calls of a foreach or a parallel.
type Calls struct {
	Total  int `json:"total"`
	Ended  int `json:"ended"`
	Failed int `json:"failed"`
}

// Bounds of a published state. It lies in the summary of the run, and each change writes it.
const (
	longestPublished = 1024 // bytes of one member of the shared state
	mostPublished    = 4096 // bytes of all
	mostMembers      = 50
	mostOmitted      = 20 // members that are listed with their sizes
)

// show gives the state. A published one has bounds.
func (r *run) show() State {
	f := r.innermost()
	s := State{Action: r.Last, Steps: r.Steps, Shared: r.Frame.Shared.object}
	if r.ended {
		return s
	}
	s.Node, s.Path = f.Node, path(f)
	if n := r.node; n != nil {
		s.Kind = n.Kind
	}
	s.WaitsFor = r.waitsFor
	if f.Now != nil {
		s.Due = f.Now.Due
		if fan := f.Now.Fan; fan != nil {
			s.Calls = &Calls{Total: fan.total, Ended: fan.ended, Failed: len(fan.Errors)}
		}
	}
	return s
}

// publish shows the state to readers of the run.
func (r *run) publish(ctx workflow.Context) {
	s := r.show()
	s.Calls, s.Changed = nil, workflow.Now(ctx)
	r.Frame.Shared.bounded(&s)
	workflow.PublishState(ctx, s)
}

// bounded has a state show the small members, and the sizes of some others. It looks at keys in the
// order in which they came, and at no more than it needs.
func (s *shared) bounded(shown *State) {
	shown.Shared = map[string]json.RawMessage{}
	left := mostPublished
	for i, key := range s.keys {
		size := len(key) + len(s.object[key])
		switch {
		case size <= longestPublished && size <= left && len(shown.Shared) < mostMembers:
			shown.Shared[key] = s.object[key]
			left -= size
		case len(shown.Omitted) < mostOmitted:
			if shown.Omitted == nil {
				shown.Omitted = map[string]int{}
			}
			shown.Omitted[key] = len(s.object[key])
		default:
			shown.More = len(s.keys) - i
			return
		}
	}
}

// path lists the subflow nodes around a frame, outermost first.
func path(f *frame) (names []string) {
	for f = f.up; f != nil; f = f.up {
		names = append(names, f.Node)
	}
	slices.Reverse(names)
	return names
}
