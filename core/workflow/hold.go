package workflow

import "github.com/reprise-run/reprise/core/internal/scheduler"

// Resource is memory that the code of a run holds outside of Go's variables, such as the engine of an
// interpreted language.
type Resource interface {
	// Bytes is how much the resource holds now. The engine asks after each activation: a resource
	// counts against the limit of live runs.
	Bytes() int
	// Close gives the memory back. The engine calls it once, when the run's code leaves memory: the
	// run may have ended, or it may be brought back later by a replay, which makes a new resource.
	Close()
}

// Hold has the engine count a resource, and close it. It does not wait and leaves no command.
func Hold(ctx Context, resource Resource) {
	ctx.enter("Hold").Run().Hold(scheduler.Resource(resource))
}

// At says where in its source the unit's code is, as in "greet.js:3:5": what interpreters of other
// languages know, and Go's stack does not. The commands that follow have the place in the log, and a
// report of nondeterminism names it. It does not wait and leaves no command.
func At(ctx Context, place string) { ctx.enter("At").At(place) }
