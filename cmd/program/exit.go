package program

import (
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Exit codes. They are part of the command line's face: never renumbered.
const (
	unsuccessful = 1 // the run, not the command
	usage        = 2
	unreachable  = 3
	notFound     = 4
	refused      = 5
	blocked      = 6
	broken       = 7
	interrupted  = 130
)

const exitCodes = `Exit codes:
  0    done
  1    the run failed, was cancelled or terminated; an update failed; replay found a mismatch; or doctor, something to do
  2    the command or its input is wrong, or there are no credentials to sign with
  3    the server cannot be reached, or its store does not answer: nothing was accepted, try again
  4    there is no such run, query, generation or token
  5    refused: it contradicts what is there, the run has ended, its code said no, or you may not
  6    the run is blocked: it cannot advance until the cause that get shows is gone
  7    something else failed
  130  interrupted`

// exit is an error that ends the program with a code. Without an err, all that there is to say was said.
type exit struct {
	code int
	err  error
	kind string // as the API names it; "": by the code
	// problems are the mistakes of a source, which the error lists.
	problems []mistake
}

func (e *exit) Error() string {
	if e.err == nil {
		return e.name()
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func (e *exit) name() string {
	if e.kind != "" {
		return e.kind
	}
	return map[int]string{unsuccessful: "unsuccessful", usage: "usage", unreachable: "unreachable",
		notFound: string(port.NotFound),
		refused:  "refused", blocked: string(port.Blocked), interrupted: "interrupted"}[e.code]
}

// exitOf is how a command ends that waited for a run's end, which it has shown.
func exitOf(status history.Status) error {
	if status == history.Completed {
		return nil
	}
	return &exit{code: unsuccessful}
}
