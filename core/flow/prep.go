package flow

import (
	"encoding/json"
	"strings"

	"github.com/reprise-run/reprise/core/flow/expr"
)

func (p *parser) readParams(n *Node, v value, at *place) {
	members := p.object(v, at)
	n.Params = make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		n.Params[m.name] = m.value.raw(p.source)
	}
	name := map[Kind]string{WaitEvent: "signal_key", Approval: "approval_key"}[n.Kind]
	if awaited := n.Params[name]; awaited != nil {
		p.reference(text(awaited), at.at(name))
	}
}

// reference checks the reference that a waiting node looks at.
func (p *parser) reference(name string, at *place) {
	if _, is, err := expr.ParseReference(name); err != nil {
		p.add(at, "%v", err)
	} else if !is {
		p.unknown(at, firstName(name), expr.Roots,
			"a waiting node needs a reference, such as \"$shared.approved\"; got %q, which would "+
				"not wait", cut(name))
	}
}

// firstName is what a reference begins with.
func firstName(text string) string {
	name, _, _ := strings.Cut(text, ".")
	return name
}

func (p *parser) readPrep(n *Node, v value, at *place) {
	for _, m := range p.object(v, at) {
		switch below := at.at(m.name); m.name {
		case "input_key":
			if text := p.string(m.value, below); text != "" {
				source := p.from(text, below)
				n.Prep.Key = &source
			}
		case "input_map":
			for _, entry := range p.object(m.value, below) {
				if n.Prep.Map == nil {
					n.Prep.Map = map[string]Source{}
				}
				at := below.at(entry.name)
				n.Prep.Map[entry.name] = p.from(p.string(entry.value, at), at)
			}
		default:
			p.unknownField(below, m, []string{"input_key", "input_map"}, "prep")
		}
	}
}

// from reads where a value comes from: a reference, or a path in the shared state.
func (p *parser) from(text string, at *place) Source {
	reference, is, err := expr.ParseReference(text)
	if !is && err == nil {
		switch {
		case text == "":
			p.add(at, "the path is empty: write $shared for the whole shared state")
		case text[0] == '$':
			p.unknown(at, firstName(text), expr.Roots,
				"a reference begins with one of %s; got %q",
				strings.Join(expr.Roots, ", "), cut(text))
		default:
			reference = expr.Reference{Root: expr.Shared}
			reference.Path, err = expr.ParsePath(text)
		}
	}
	if err != nil {
		p.add(at, "%v", err)
	}
	return Source{Text: text, reference: reference}
}

func (p *parser) readPost(n *Node, v value, at *place) {
	for _, m := range p.object(v, at) {
		switch below := at.at(m.name); m.name {
		case "output_key":
			n.Post.OutputKey = p.target(p.string(m.value, below), below)
		case "output_map":
			p.readOutputs(n, m.value, below)
		case "action_static":
			n.Post.ActionStatic = p.string(m.value, below)
		case "action_key":
			n.Post.ActionKey = p.string(m.value, below)
			n.Post.action = p.path(n.Post.ActionKey, below)
		default:
			p.unknownField(below, m,
				[]string{"output_key", "output_map", "action_static", "action_key"}, "post")
		}
	}
}

func (p *parser) readOutputs(n *Node, v value, at *place) {
	n.Post.OutputMap, n.Post.output = map[string]string{}, map[string]expr.Path{}
	for _, m := range p.object(v, at) {
		below := at.at(m.name)
		if m.name == "" {
			p.add(below, "the key is empty: name the key of the shared state that gets the field")
		}
		key, path := p.target(m.name, below), p.string(m.value, below)
		n.Post.OutputMap[key], n.Post.output[key] = path, p.path(path, below)
	}
}

// path reads a path inside a result.
func (p *parser) path(text string, at *place) expr.Path {
	path, err := expr.ParsePath(text)
	if err != nil {
		p.add(at, "%v", err)
	}
	return path
}

// target checks a key that a result is written to.
func (p *parser) target(key string, at *place) string {
	switch {
	case len(key) > longestKey:
		p.add(at,
			"a key of the shared state has at most %d bytes, this one has %d", longestKey, len(key))
	case key == runtimeKey:
		p.add(at, "the key %q belongs to the engine: use another name", runtimeKey)
	case strings.HasPrefix(key, "$"):
		p.add(at,
			"a result is written to a key of the shared state, which has no $: write %q",
			cut(strings.TrimPrefix(strings.TrimPrefix(key, "$shared."), "$")))
	}
	return key
}
