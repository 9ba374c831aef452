package script

import (
	"fmt"
	"strings"
)

// Problem is a mistake in a script.
type Problem struct {
	Line, Column int // from 1; zero: the script as a whole
	// Message names the mistake and the remedy.
	Message string
}

// Problems are the mistakes of a script, in the order of the source. It is the error of [Parse].
type Problems []Problem

// Error lists the problems, one in each line.
func (p Problems) Error() string {
	lines := make([]string, 0, len(p)+1)
	if len(p) > 1 {
		lines = append(lines, fmt.Sprintf("the script is not valid, it has %d problems:", len(p)))
	}
	for _, problem := range p {
		text := problem.Message
		if problem.Line > 0 {
			text = fmt.Sprintf("%d:%d: %s", problem.Line, problem.Column, text)
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n  ")
}

// mostProblems is how many problems are listed.
const mostProblems = 100
