package simulation

import (
	"encoding/json"
	"strconv"
	"strings"
)

// scopeOf is what the references of a flow can see.
type scopeOf struct {
	params, shared map[string]any
	input          any
}

// value gives what a reference refers to: $params.x, $shared.x, $input.x, and x for $shared.x.
func (s scopeOf) value(text string) any {
	root, path, _ := strings.Cut(text, ".")
	switch root {
	case "$params":
		return at(s.params, path)
	case "$shared":
		return at(s.shared, path)
	case "$input":
		return at(s.input, path)
	}
	return at(s.shared, text)
}

// at follows a path such as a.b[0]. What is missing is nil.
func at(value any, path string) any {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch inside := value.(type) {
		case map[string]any:
			value = inside[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(inside) {
				return nil
			}
			value = inside[i]
		default:
			return nil
		}
	}
	return value
}

// holds evaluates an expression of those that flows are drawn with.
func (s scopeOf) holds(expression map[string]any) bool {
	for operator, operand := range expression { // order-insensitive: there is one
		switch operator {
		case "not":
			return !s.holds(operand.(map[string]any))
		case "and":
			parts := operand.([]any)
			return s.holds(parts[0].(map[string]any)) && s.holds(parts[1].(map[string]any))
		case "or":
			parts := operand.([]any)
			return s.holds(parts[0].(map[string]any)) || s.holds(parts[1].(map[string]any))
		case "exists":
			return s.value(operand.(string)) != nil
		}
		pair := operand.([]any)
		return (asText(s.value(pair[0].(string))) == asText(pair[1])) == (operator == "eq")
	}
	panic("an expression without an operator")
}

// asText is a value as text: what is no string counts as its JSON.
func asText(value any) string {
	if text, is := value.(string); is {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
