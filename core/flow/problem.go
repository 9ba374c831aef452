package flow

import (
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/internal/suggest"
)

// Problem is a mistake in a definition.
type Problem struct {
	// Pointer is the place, as a JSON pointer (RFC 6901). Empty: the definition as a whole.
	Pointer string `json:"pointer"`
	// Message names the mistake and the remedy.
	Message string `json:"message"`
}

// String gives place and message.
func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// Problems are the mistakes of a definition, in the order in which they were found. It is the error
// of [Parse].
type Problems []Problem

// Error lists the problems, one in each line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "the flow is not valid: " + p[0].String()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "the flow is not valid, it has %d problems:", len(p))
	for _, problem := range p {
		text.WriteString("\n  " + problem.String())
	}
	return text.String()
}

// mostProblems is how many problems are listed. A definition with more is not read further.
const mostProblems = 100

// place is where a value lies in a definition. Its pointer is made only when a problem names it.
type place struct {
	up   *place
	name string
}

func (p *place) at(name string) *place { return &place{p, name} }

func (p *place) pointer() string {
	var names []string
	for ; p != nil && p.up != nil; p = p.up {
		names = append(names, escaper.Replace(p.name))
	}
	var text strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		text.WriteString("/" + names[i])
	}
	return text.String()
}

// escaper writes a name as part of a JSON pointer.
var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// report collects problems.
type report struct {
	problems  Problems
	more      int
	suggester suggest.Suggester
}

func (r *report) add(at *place, format string, args ...any) {
	if len(r.problems) >= mostProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, Problem{at.pointer(), fmt.Sprintf(format, args...)})
}

// full says whether further problems would not be listed.
func (r *report) full() bool { return len(r.problems) >= mostProblems }

// unknown adds a problem about a name that is not among the known ones.
func (r *report) unknown(at *place, name string, known []string, format string, args ...any) {
	if r.full() {
		r.more++
		return
	}
	message := fmt.Sprintf(format, args...)
	if near := r.suggester.Nearest(name, known); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	r.add(at, "%s", message)
}

// err gives the problems as an error; nil if there are none.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	if r.more > 0 {
		return append(r.problems, Problem{"", fmt.Sprintf(
			"and %d more problems, which are not listed: correct these first", r.more)})
	}
	return r.problems
}

// cut shortens a name from a definition for a message.
func cut(name string) string {
	const most = 60
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}
