package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// Path names a value inside another: order.lines[0].price.
type Path struct{ steps []step }

// step is the name of a member or, if the name is empty, the index of an element.
type step struct {
	name  string
	index int
}

// MaxPath is how many steps a path has at most.
const MaxPath = 100

// ParsePath reads a path. The empty path names the value itself.
func ParsePath(text string) (Path, error) {
	var p Path
	if text == "" {
		return p, nil
	}
	for part := range strings.SplitSeq(text, ".") {
		name, indexes, indexed := strings.Cut(part, "[")
		if name == "" && (!indexed || len(p.steps) > 0) {
			return p, fmt.Errorf(
				"path %q has an empty name: write names with one dot between them, as in a.b[0].c",
				text)
		}
		if name != "" {
			p.steps = append(p.steps, step{name: name})
		}
		if err := p.addIndexes(text, indexes, indexed); err != nil {
			return p, err
		}
		if len(p.steps) > MaxPath {
			return p, fmt.Errorf("a path of more than %d steps: shorten it", MaxPath)
		}
	}
	return p, nil
}

// addIndexes adds what follows the first bracket of a part, such as 0] or 0][1].
func (p *Path) addIndexes(path, indexes string, indexed bool) error {
	for more := indexed; more; {
		digits, rest, closed := strings.Cut(indexes, "]")
		n, err := strconv.Atoi(digits)
		if !closed || err != nil || n < 0 || strings.HasPrefix(digits, "+") {
			return fmt.Errorf(
				"path %q: an index is a whole number in brackets, as in lines[0]", path)
		}
		p.steps = append(p.steps, step{index: n})
		if rest != "" && rest[0] != '[' {
			return fmt.Errorf(
				"path %q: after %q there must be a dot, a bracket or the end", path, digits+"]")
		}
		if more = rest != ""; more {
			indexes = rest[1:]
		}
	}
	return nil
}

// In gives the value that the path names inside a JSON value; nil if there is none.
func (p Path) In(value []byte) []byte {
	for _, s := range p.steps {
		if s.name != "" {
			value = member(value, s.name)
		} else {
			value = element(value, s.index)
		}
		if value == nil {
			return nil
		}
	}
	return value
}

// Cost is how many bytes [Path.In] reads at most.
func (p Path) Cost(value []byte) int { return len(value) * max(len(p.steps), 1) }

// head is the part of the path that is found without reading.
func (p Path) head() Path { return Path{p.steps[:min(len(p.steps), 1)]} }

// Of is [Path.In] for the members of an object that is not one JSON text.
func (p Path) Of(object Object) []byte {
	if len(p.steps) == 0 {
		return object.JSON()
	}
	if p.steps[0].name == "" {
		return nil
	}
	return Path{p.steps[1:]}.In(object.Member(p.steps[0].name))
}

// First is the name that the path begins with; empty if it begins with an index, or is empty.
func (p Path) First() string {
	if len(p.steps) == 0 {
		return ""
	}
	return p.steps[0].name
}

// Len is how many steps the path has.
func (p Path) Len() int { return len(p.steps) }
