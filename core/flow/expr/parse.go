package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits of one expression. Parse refuses larger ones.
const (
	MaxDepth     = 50   // operators inside each other
	MaxOperators = 1000 // in all
)

// Operators lists the operators.
var Operators = []string{
	"and", "or", "not", "eq", "ne", "gt", "ge", "lt", "le", "exists", "in", "contains",
}

// Problem is a mistake in an expression.
type Problem struct {
	Pointer string // of the place, as a JSON pointer
	Message string // names the mistake and the remedy
	Unknown string // the name that is not known, if that is the mistake
}

// Expr is an expression that was parsed.
type Expr struct {
	operator    string
	expressions []*Expr // of and, or, not
	left, right operand // of the others; exists has the left one only
}

// operand is a reference or a value of its own.
type operand struct {
	reference *Reference
	literal   json.RawMessage
}

// Parse reads an expression and gives all mistakes. The pointers of the mistakes begin with at, the
// pointer of the expression itself. The expression is nil if there are mistakes.
func Parse(text []byte, at string) (*Expr, []Problem) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, []Problem{{Pointer: at, Message: "the expression is not JSON: " + err.Error()}}
	}
	p := &parser{}
	if _, is := value.(map[string]any); !is {
		p.add(at,
			"an expression is an object with one operator, such as {\"eq\": [\"$params.kind\", "+
				"\"a\"]}; got "+typeOf(value))
		return nil, p.problems
	}
	e := p.expression(value, at, 1)
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return e, nil
}

type parser struct {
	problems  []Problem
	operators int
}

func (p *parser) add(at, message string) {
	p.problems = append(p.problems, Problem{Pointer: at, Message: message})
}

// expression reads one operator, or a value in the place of an expression.
func (p *parser) expression(value any, at string, depth int) *Expr {
	object, is := value.(map[string]any)
	if !is {
		isTrue := operand{literal: json.RawMessage("true")}
		return &Expr{operator: "eq", left: p.operand(value, at), right: isTrue}
	}
	if p.operators++; p.operators > MaxOperators || depth > MaxDepth {
		if p.operators == MaxOperators+1 || depth == MaxDepth+1 {
			p.add(at, fmt.Sprintf(
				"an expression has at most %d operators, and at most %d inside each other: split "+
					"it into several choices", MaxOperators, MaxDepth))
		}
		return nil
	}
	names := slices.Sorted(maps.Keys(object))
	if len(names) != 1 {
		p.add(at, fmt.Sprintf(
			"an expression has exactly one operator, this one has %d: join several with \"and\" "+
				"or \"or\"", len(names)))
		return nil
	}
	name := names[0]
	below := at + "/" + escape(name)
	switch name {
	case "and", "or":
		return p.several(name, object[name], below, depth)
	case "not":
		inner := p.expression(object[name], below, depth+1)
		return &Expr{operator: name, expressions: []*Expr{inner}}
	case "exists":
		if _, list := object[name].([]any); list {
			p.add(below, "exists takes one value, not an array, such as \"$shared.order\"")
		}
		return &Expr{operator: name, left: p.operand(object[name], below)}
	case "eq", "ne", "gt", "ge", "lt", "le", "in", "contains":
		return p.pair(name, object[name], below)
	}
	p.problems = append(p.problems, Problem{Pointer: below, Unknown: name,
		Message: fmt.Sprintf(
			"there is no operator %q: use one of %s", cut(name), strings.Join(Operators, ", "))})
	return nil
}

func (p *parser) several(name string, value any, at string, depth int) *Expr {
	list, is := value.([]any)
	if !is {
		p.add(at, name+" takes an array of expressions; got "+typeOf(value))
		return nil
	}
	e := &Expr{operator: name}
	for i, element := range list {
		inner := p.expression(element, at+"/"+strconv.Itoa(i), depth+1)
		e.expressions = append(e.expressions, inner)
		if p.operators > MaxOperators {
			break
		}
	}
	return e
}

func (p *parser) pair(name string, value any, at string) *Expr {
	list, is := value.([]any)
	if !is || len(list) != 2 {
		order := "[a, b]"
		switch name {
		case "in":
			order = "[value, collection]"
		case "contains":
			order = "[collection, value]"
		}
		p.add(at, name+" takes an array of two operands, "+order+"; got "+typeOf(value))
		return nil
	}
	left, right := p.operand(list[0], at+"/0"), p.operand(list[1], at+"/1")
	return &Expr{operator: name, left: left, right: right}
}

func (p *parser) operand(value any, at string) operand {
	if text, is := value.(string); is {
		reference, is, err := ParseReference(text)
		if err != nil {
			p.add(at, err.Error())
		}
		if is {
			return operand{reference: &reference}
		}
	}
	literal, _ := json.Marshal(value) // it was JSON a moment ago
	return operand{literal: literal}
}

// typeOf names the type of a JSON value, for a message.
func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return fmt.Sprintf("an array of %d", len(value))
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}

// escape writes a name as part of a JSON pointer.
func escape(name string) string { return escaper.Replace(name) }

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// cut shortens a name for a message.
func cut(name string) string {
	const most = 60
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}
