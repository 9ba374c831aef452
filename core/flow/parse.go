package flow

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse reads a definition and checks it. The error is of type [Problems] and lists all mistakes,
// each with its place. Parse takes time and memory in proportion to the source, and refuses a
// source beyond the limits of this package.
func Parse(source []byte) (*Definition, error) {
	p := &parser{report: &report{}, source: source}
	tree, whole := p.read(source)
	if whole {
		d := p.flow(tree, &place{}, 0)
		if err := p.err(); err == nil {
			return d, nil
		}
	}
	return nil, p.err()
}

// parser turns the tree of a source into a definition.
type parser struct {
	*report
	source []byte
	nodes  int
}

// flow reads a flow, or a subflow that lies so many flows deep.
func (p *parser) flow(v value, at *place, nested int) *Definition {
	d := &Definition{nodes: map[string]*Node{}, next: map[exit]string{}}
	if v.kind != '{' {
		p.add(at, "a flow is an object with \"start\", \"nodes\" and \"edges\"; got %s", v)
		return d
	}
	if nested > MaxNested {
		p.add(at,
			"more than %d subflows lie inside each other: publish the inner ones, and call them "+
				"by \"workflow\"", MaxNested)
		return d
	}
	var nodes, edges value
	for _, m := range v.members {
		switch below := at.at(m.name); m.name {
		case "start":
			d.Start = p.string(m.value, below)
		case "nodes":
			nodes = m.value
		case "edges":
			edges = m.value
		case "$schema", "name", "description":
			p.string(m.value, below)
		default:
			known := []string{"start", "nodes", "edges", "name", "description"}
			p.unknownField(below, m, known, "a flow")
		}
	}
	p.readNodes(d, nodes, at.at("nodes"), nested)
	p.readEdges(d, edges, at.at("edges"))
	p.check(d, edges, at)
	return d
}

func (p *parser) readNodes(d *Definition, v value, at *place, nested int) {
	if v.kind != '{' || len(v.members) == 0 {
		p.add(at, "a flow needs \"nodes\", an object with at least one node; got %s", orNothing(v))
		return
	}
	for _, m := range v.members {
		if p.nodes++; p.nodes > MaxNodes {
			if p.nodes == MaxNodes+1 {
				p.add(at,
					"the definition has more than %d nodes: make it several flows, and call them "+
						"by \"workflow\"", MaxNodes)
			}
			return
		}
		if p.full() {
			return
		}
		below := at.at(m.name)
		if m.name == "" || len(m.name) > MaxName {
			p.add(below,
				"the key of a node has 1 to %d bytes, this one has %d", MaxName, len(m.name))
		}
		if !plainName(m.name) {
			p.add(below, "the key of a node has no control characters")
		}
		if d.nodes[m.name] == nil { // else it stands there twice, which is a problem already
			n := p.node(m.name, m.value, below, nested)
			d.nodes[m.name] = n
			d.Nodes = append(d.Nodes, n)
		}
	}
}

func (p *parser) readEdges(d *Definition, v value, at *place) {
	if v.kind == 0 || v.kind == 'n' {
		return
	}
	if v.kind != '[' {
		p.add(at, "\"edges\" is an array of edges; got %s", v)
		return
	}
	for i, element := range v.elements {
		if p.full() {
			return
		}
		d.Edges = append(d.Edges, p.edge(element, at.at(strconv.Itoa(i))))
	}
}

func (p *parser) edge(v value, at *place) (e Edge) {
	if v.kind != '{' {
		p.add(at,
			"an edge is an object such as {\"from\": \"a\", \"action\": \"default\", \"to\": "+
				"\"b\"}; got %s", v)
		return e
	}
	for _, m := range v.members {
		switch below := at.at(m.name); m.name {
		case "from":
			e.From = p.string(m.value, below)
		case "action":
			e.Action = p.string(m.value, below)
		case "to":
			e.To = p.string(m.value, below)
		case "name", "description":
			p.string(m.value, below)
		default:
			known := []string{"from", "action", "to", "name", "description"}
			p.unknownField(below, m, known, "an edge")
		}
	}
	if e.Action == "" {
		e.Action = DefaultAction
	}
	return e
}

// unknownField reports a field that is not known. Names that begin with x- belong to other tools.
func (p *parser) unknownField(at *place, m member, known []string, of string) {
	if strings.HasPrefix(m.name, "x-") {
		return
	}
	p.unknown(at, m.name, known,
		"%s has no field %q: remove it, or name it x-… if another tool reads it", of, cut(m.name))
}

// string reads a string. null is the empty one.
func (p *parser) string(v value, at *place) string {
	if v.kind != '"' && v.kind != 'n' {
		p.add(at, "this must be a string; got %s", v)
	}
	if v.kind != '"' {
		return ""
	}
	return v.text
}

// bool reads a boolean. null is false.
func (p *parser) bool(v value, at *place) bool {
	if v.kind != 't' && v.kind != 'n' {
		p.add(at, "this must be true or false; got %s", v)
	}
	return v.kind == 't' && v.text == "true"
}

// int reads a whole number within bounds. null is 0.
func (p *parser) int(v value, at *place, least, most int) int {
	f := p.float(v, at, float64(least), float64(most))
	if f != math.Trunc(f) {
		p.add(at, "this must be a whole number; got %s", v)
		return 0
	}
	return int(f)
}

// float reads a number within bounds. null is 0.
func (p *parser) float(v value, at *place, least, most float64) float64 {
	if v.kind == 'n' {
		return 0
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if v.kind != '0' || err != nil || f < least || f > most {
		p.add(at, "this must be a number from %s to %s; got %s", plain(least), plain(most), v)
		return 0
	}
	return f
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// longest is the longest time that a definition can name, in milliseconds: a year.
const longest = 366 * 24 * 60 * 60 * 1000

// duration reads a time in milliseconds.
func (p *parser) duration(v value, at *place) time.Duration {
	return time.Duration(p.int(v, at, 0, longest)) * time.Millisecond
}

// strings reads an array of strings. null is an empty one.
func (p *parser) strings(v value, at *place) (list []string) {
	if v.kind != '[' && v.kind != 'n' {
		p.add(at, "this must be an array of strings; got %s", v)
	}
	for i, element := range v.elements {
		if p.full() {
			return list
		}
		list = append(list, p.string(element, at.at(strconv.Itoa(i))))
	}
	return list
}

// object gives the members of an object. null has none.
func (p *parser) object(v value, at *place) []member {
	if v.kind != '{' && v.kind != 'n' {
		p.add(at, "this must be an object; got %s", v)
	}
	return v.members
}

// oneOf reads a string that is one of several; the empty one always is.
func (p *parser) oneOf(v value, at *place, known ...string) string {
	text := p.string(v, at)
	if text != "" && !slices.Contains(known, text) {
		p.unknown(at, text, known,
			"this must be one of %s; got %q", strings.Join(known, ", "), cut(text))
		return ""
	}
	return text
}

// orNothing names a value that may be missing.
func orNothing(v value) string {
	if v.kind == 0 {
		return "nothing"
	}
	return v.String()
}
