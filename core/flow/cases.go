package flow

import (
	"fmt"
	"strconv"

	"github.com/reprise-run/reprise/core/flow/expr"
)

func (p *parser) readCases(n *Node, v value, at *place) {
	if v.kind != '[' {
		p.add(at,
			"\"choice_cases\" is an array of cases such as {\"action\": \"a\", \"expr\": "+
				"{\"eq\": [\"$params.kind\", \"a\"]}}; got %s", v)
	}
	for i, element := range v.elements {
		if p.full() {
			return
		}
		n.Cases = append(n.Cases, p.choiceCase(element, at.at(strconv.Itoa(i))))
	}
}

func (p *parser) choiceCase(v value, at *place) (c Case) {
	if v.kind != '{' {
		p.add(at,
			"a case is an object such as {\"action\": \"a\", \"expr\": {\"eq\": "+
				"[\"$params.kind\", \"a\"]}}; got %s", v)
		return c
	}
	has := false
	for _, m := range v.members {
		switch below := at.at(m.name); m.name {
		case "action":
			c.Action = p.string(m.value, below)
		case "expr":
			has = true
			c.Expr = p.expression(m.value, below)
		case "name", "description":
			p.string(m.value, below)
		default:
			p.unknownField(below, m, []string{"action", "expr", "name", "description"}, "a case")
		}
	}
	if !has {
		p.add(at,
			"the case has no \"expr\": say when it holds, such as {\"exists\": \"$params.kind\"}")
	}
	return c
}

// expression reads an expression. Its problems get their places below the case.
func (p *parser) expression(v value, at *place) *expr.Expr {
	e, problems := expr.Parse(v.raw(p.source), at.pointer())
	for _, problem := range problems {
		if p.full() {
			break
		}
		message := problem.Message
		if near := p.suggester.Nearest(problem.Unknown, expr.Operators); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		p.problems = append(p.problems, Problem{problem.Pointer, message})
	}
	return e
}
