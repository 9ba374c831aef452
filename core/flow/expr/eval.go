package expr

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"
)

// ErrBudget says that an expression would have read more bytes than its budget.
var ErrBudget = errors.New("the expression reads too much: compare smaller values")

// Eval says whether the expression holds. It takes the bytes that it reads from the budget, and
// ends with [ErrBudget] when the budget is used up. All other expressions give an answer.
func (e *Expr) Eval(values Values, budget *int) (bool, error) {
	run := &evaluation{values: values, left: *budget}
	holds := run.holds(e)
	*budget = max(run.left, 0)
	if run.left < 0 {
		return false, ErrBudget
	}
	return holds, nil
}

// evaluation is one call of Eval. When nothing is left of its budget, it ends quickly.
type evaluation struct {
	values Values
	left   int
}

// pay takes bytes from the budget and says whether it held them.
func (r *evaluation) pay(bytes int) bool {
	r.left = max(r.left-bytes, -1)
	return r.left >= 0
}

func (r *evaluation) holds(e *Expr) bool {
	if !r.pay(1) {
		return false
	}
	switch e.operator {
	case "and":
		return r.all(e.expressions, true)
	case "or":
		return !r.all(e.expressions, false)
	case "not":
		return !r.holds(e.expressions[0])
	case "exists":
		return !isNull(r.value(e.left))
	case "in":
		return r.contains(r.value(e.right), r.value(e.left))
	case "contains":
		return r.contains(r.value(e.left), r.value(e.right))
	}
	order := r.compare(r.value(e.left), r.value(e.right))
	switch e.operator {
	case "eq":
		return order == 0
	case "ne":
		return order != 0
	case "gt":
		return order > 0
	case "ge":
		return order >= 0
	case "lt":
		return order < 0
	default: // le: Parse knows no other operator
		return order <= 0
	}
}

// all says whether all expressions give the answer. It stops at the first that does not.
func (r *evaluation) all(expressions []*Expr, answer bool) bool {
	for _, e := range expressions {
		if r.holds(e) != answer || r.left < 0 {
			return false
		}
	}
	return true
}

// value gives an operand's JSON.
func (r *evaluation) value(o operand) []byte {
	if o.reference == nil {
		return o.literal
	}
	if !r.pay(o.reference.Cost(r.values)) {
		return nil
	}
	return o.reference.In(r.values)
}

// contains says whether an array has an element that equals the value, or a string has the value's
// text in it.
func (r *evaluation) contains(collection, value []byte) bool {
	collection = bytes.TrimSpace(collection)
	if len(collection) == 0 || !r.pay(len(collection)) {
		return false
	}
	switch collection[0] {
	case '"':
		return strings.Contains(unquote(collection), r.text(value))
	case '[':
		for element := range elements(collection) {
			if r.compare(element, value) == 0 && r.left >= 0 {
				return true
			}
			if r.left < 0 {
				return false
			}
		}
	}
	return false
}

// compare is -1, 0 or 1. If one side is not a number, both
// compare as strings.
func (r *evaluation) compare(a, b []byte) int {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if !r.pay(len(a) + len(b)) {
		return 0
	}
	x, isNumber := numberOf(a)
	y, areNumbers := numberOf(b)
	if isNumber && areNumbers {
		return x.compare(y)
	}
	return strings.Compare(r.text(a), r.text(b))
}

// text is a string's text, and the JSON form of all else. Objects and arrays cost more, since they
// are read as a whole.
func (r *evaluation) text(value []byte) string {
	switch {
	case isNull(value):
		return "null"
	case value[0] == '"':
		return unquote(value)
	case value[0] == '{' || value[0] == '[':
		const dearer = 20 // decoded, a value takes so many times its bytes
		if !r.pay(dearer * len(value)) {
			return ""
		}
		return canonical(value)
	}
	return string(value)
}

// number is a number as exact as it can be had.
type number struct {
	whole   int64
	isWhole bool
	float   float64
}

func (n number) compare(m number) int {
	if n.isWhole && m.isWhole {
		return cmp.Compare(n.whole, m.whole)
	}
	return cmp.Compare(n.float, m.float)
}

// longestNumber is how many bytes a number has at most. Longer ones compare as strings.
const longestNumber = 400

// numberOf reads a number, or a string that holds one.
func numberOf(value []byte) (number, bool) {
	if len(value) == 0 || len(value) > longestNumber ||
		strings.IndexByte("\"-0123456789", value[0]) < 0 {
		return number{}, false
	}
	text := string(value)
	if text[0] == '"' {
		text = unquote(value)
	}
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" {
		return number{}, false
	}
	float, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return number{}, false
	}
	whole, err := strconv.ParseInt(text, 10, 64)
	return number{whole: whole, isWhole: err == nil, float: float}, true
}
