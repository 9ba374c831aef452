package flow

import (
	"strconv"
)

// check looks at the graph of a flow: its start, its edges, and whether every node can be reached.
func (p *parser) check(d *Definition, edges value, at *place) {
	if len(d.nodes) == 0 {
		return
	}
	keys := make([]string, len(d.Nodes))
	for i, n := range d.Nodes {
		keys[i] = n.Key
	}
	switch {
	case d.Start == "":
		p.add(at.at("start"), "a flow needs \"start\", the key of its first node")
	case d.nodes[d.Start] == nil:
		p.unknown(at.at("start"), d.Start, keys,
			"the flow starts at %q, and there is no such node", cut(d.Start))
	}
	leads := map[string][]string{}
	for i, e := range d.Edges {
		if edges.elements[i].kind == '{' {
			p.checkEdge(d, e, at.at("edges").at(strconv.Itoa(i)), keys)
			leads[e.From] = append(leads[e.From], e.To)
		}
	}
	p.checkReach(d, leads, at.at("nodes"))
}

// checkEdge checks one edge and enters it.
func (p *parser) checkEdge(d *Definition, e Edge, at *place, keys []string) {
	switch {
	case e.From == "":
		p.add(at.at("from"), "an edge needs \"from\", the key of the node that it leaves")
	case d.nodes[e.From] == nil:
		p.unknown(at.at("from"), e.From, keys,
			"the edge leaves %q, and there is no such node", cut(e.From))
	}
	if e.To != "" && d.nodes[e.To] == nil {
		p.unknown(at.at("to"), e.To, keys,
			"the edge leads to %q, and there is no such node: name one, or leave \"to\" empty to "+
				"end the flow", cut(e.To))
	}
	from := exit{e.From, e.Action}
	if to, has := d.next[from]; has && to != e.To {
		p.add(at,
			"another edge leaves %q with action %q for %q: remove one of the two",
			cut(e.From), cut(e.Action), cut(to))
		return
	}
	d.next[from] = e.To
}

// checkReach finds nodes to which no path leads from the start.
func (p *parser) checkReach(d *Definition, leads map[string][]string, at *place) {
	if d.nodes[d.Start] == nil {
		return
	}
	reached, open := map[string]bool{d.Start: true}, []string{d.Start}
	for len(open) > 0 {
		key := open[len(open)-1]
		open = open[:len(open)-1]
		for _, to := range leads[key] {
			if !reached[to] {
				reached[to] = true
				open = append(open, to)
			}
		}
	}
	for _, n := range d.Nodes {
		if !reached[n.Key] {
			p.add(at.at(n.Key),
				"no edge leads to this node from the start %q: add one, or remove the node",
				cut(d.Start))
		}
	}
}
