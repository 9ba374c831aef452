package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// object is an Object made of JSON.
type object json.RawMessage

func (o object) Member(name string) []byte { return member(o, name) }
func (o object) JSON() []byte              { return o }

var values = Values{
	Params: object(`{"n": 3, "text": "3", "kind": "invoice", "no": false, "yes": true, "nothing": null, "big": 9007199254740993}`),
	Shared: object(`{"order": {"lines": [{"price": 5}, {"price": "7.50"}], "note": "a \"b\" {c"}, "tags": ["a", 1, null, {"x": 1, "y": [2]}], "empty": []}`),
	Input:  []byte(`[10, [20, 30]]`),
}

func eval(t *testing.T, text string) bool {
	t.Helper()
	e, problems := Parse([]byte(text), "")
	require.Empty(t, problems)
	budget := 1 << 20
	holds, err := e.Eval(values, &budget)
	require.NoError(t, err)
	return holds
}

// S4.40: each operator, each type of operand, each root.
func TestOperators(t *testing.T) {
	for text, want := range map[string]bool{
		`{"and": []}`: true, `{"or": []}`: false,
		`{"and": [{"eq": [1, 1]}, {"eq": [2, 2]}]}`:      true,
		`{"and": [{"eq": [1, 1]}, {"eq": [1, 2]}]}`:      false,
		`{"or": [{"eq": [1, 2]}, {"eq": [2, 2]}]}`:       true,
		`{"or": [{"eq": [1, 2]}, {"eq": [3, 2]}]}`:       false,
		`{"not": {"eq": [1, 2]}}`:                        true,
		`{"not": "$params.yes"}`:                         false,
		`{"not": "$params.no"}`:                          true,
		`{"not": null}`:                                  true,
		`{"and": [true, "$params.yes"]}`:                 true,
		`{"and": ["true"]}`:                              true,
		`{"and": [1]}`:                                   false,
		`{"or": [false, "yes"]}`:                         false,
		`{"eq": ["$params.n", 3]}`:                       true,
		`{"eq": ["$params.n", "3.0"]}`:                   true,
		`{"eq": ["$params.text", 3]}`:                    true,
		`{"ne": ["$params.n", 4]}`:                       true,
		`{"eq": ["$params.kind", "invoice"]}`:            true,
		`{"eq": [1, true]}`:                              false,
		`{"eq": ["true", true]}`:                         true,
		`{"eq": [null, "null"]}`:                         true,
		`{"eq": ["$params.missing", null]}`:              true,
		`{"eq": ["$params.nothing", "$params.missing"]}`: true,
		`{"eq": ["$params.big", 9007199254740992]}`:      false,
		`{"eq": ["$params.big", 9007199254740993]}`:      true,
		`{"eq": ["$nobody.x", "$nobody.x"]}`:             true,
		`{"eq": ["$paramsn", 3]}`:                        false,
		`{"eq": ["$paramsn", "$paramsn"]}`:               true,
		`{"gt": ["$shared.order.lines[1].price", "$shared.order.lines[0].price"]}`: true,
		`{"gt": ["b", "a"]}`:                               true,
		`{"gt": ["10", "9"]}`:                              true,
		`{"gt": ["10x", "9x"]}`:                            false,
		`{"ge": [2, 2]}`:                                   true,
		`{"lt": [1e400, 2]}`:                               false,
		`{"le": [-1e400, 2]}`:                              true,
		`{"lt": [2, 10]}`:                                  true,
		`{"exists": "$shared.order.lines[1]"}`:             true,
		`{"exists": "$shared.order.lines[2]"}`:             false,
		`{"exists": "$params.nothing"}`:                    false,
		`{"exists": "name"}`:                               true,
		`{"exists": "$input"}`:                             true,
		`{"exists": "$shared.order.note.x"}`:               false,
		`{"exists": "$input[1][0]"}`:                       true,
		`{"in": [1, "$shared.tags"]}`:                      true,
		`{"in": ["1", "$shared.tags"]}`:                    true,
		`{"in": [2, "$shared.tags"]}`:                      false,
		`{"in": [1, "$shared.empty"]}`:                     false,
		`{"in": [null, "$shared.tags"]}`:                   true,
		`{"in": [{"y": [2], "x": 1}, "$shared.tags"]}`:     true,
		`{"in": ["voi", "$params.kind"]}`:                  true,
		`{"in": [3, "a3"]}`:                                true,
		`{"in": ["a", 3]}`:                                 false,
		`{"in": ["b", ["a", "b"]]}`:                        true,
		`{"in": [1, "$params.missing"]}`:                   false,
		`{"contains": ["$shared.order.note", "\"b\" {"]}`:  true,
		`{"contains": ["$input", 10]}`:                     true,
		`{"contains": ["$input", [20, 30]]}`:               true,
		`{"contains": ["$input[1]", 20]}`:                  true,
		`{"contains": [{"a": 1}, "a"]}`:                    false,
		`{"eq": ["$input[0]", 10]}`:                        true,
		`{"eq": ["$shared.order.lines[0]", {"price": 5}]}`: true,
		`{"eq": ["$params[0]", null]}`:                     true,
	} {
		require.Equal(t, want, eval(t, text), text)
	}
}

// S4.58: expressions inside each other.
func TestComplexExpression(t *testing.T) {
	require.True(t, eval(t, `{"and": [
		{"or": [{"eq": ["$params.kind", "order"]}, {"eq": ["$params.kind", "invoice"]}]},
		{"not": {"and": [{"gt": ["$params.n", 5]}, {"exists": "$shared.missing"}]}},
		{"contains": ["$shared.tags", "a"]}]}`))
}

// S4.40: Parse finds all mistakes at once, each with its place.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`3`:                              ": an expression is an object with one operator",
		`null`:                           "got null",
		`[]`:                             "got an array of 0",
		`{}`:                             "has 0",
		`{"eq": [1, 1], "ne": [1, 2]}`:   "has 2",
		`{"equals": [1, 1]}`:             `/equals: there is no operator "equals"`,
		`{"eq": [1]}`:                    "/eq: eq takes an array of two operands, [a, b]; got an array of 1",
		`{"eq": 1}`:                      "got a number",
		`{"and": {}}`:                    "/and: and takes an array",
		`{"in": [1]}`:                    "[value, collection]",
		`{"contains": [1]}`:              "[collection, value]",
		`{"exists": ["$params.a"]}`:      "/exists: exists takes one value",
		`{"not": {"or": [{"lt": "x"}]}}`: "/not/or/0/lt: lt takes",
		`{"eq": ["$params.a..b", 1]}`:    "/eq/0: path",
		`{"eq": [1, "$params.a[x]"]}`:    "/eq/1: path",
		`{"exists": "$shared."}`:         "empty name",
		`{"exists": "$shared.a[1"}`:      "whole number in brackets",
		`{"exists": "$input[1]x"}`:       "a dot, a bracket or the end",
		`{"exists": "$input[-1]"}`:       "whole number",
		`{"a/b~c": 1}`:                   "/a~1b~0c: there is no operator",
		`{"eq"`:                          "not JSON",
	} {
		e, problems := Parse([]byte(text), "/x")
		require.Nil(t, e, text)
		require.NotEmpty(t, problems, text)
		require.Contains(t, fmt.Sprintf("%s: %s", problems[0].Pointer, problems[0].Message),
			want, text)
		require.True(t, strings.HasPrefix(problems[0].Pointer, "/x"), text)
	}
	_, problems := Parse(
		[]byte(`{"and": [{"eq": [1]}, {"xor": 1}, {"not": {"exists": "$params.[0"}}]}`), "")
	require.Len(t, problems, 3)
	require.Equal(t, "xor", problems[1].Unknown)
}

// S4.40: depth, number of operators and bytes read have bounds, and what is within them ends
// quickly.
func TestBounds(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`{"not": `, n) + "true" + strings.Repeat("}", n)
	}
	require.True(t, eval(t, nested(MaxDepth)))
	for _, text := range []string{nested(MaxDepth + 1), nested(5000), `{"and": [` +
		strings.Repeat(`{"eq": [1, 1]},`, MaxOperators) + `true]}`} {
		_, problems := Parse([]byte(text), "")
		require.NotEmpty(t, problems)
		require.Contains(t, problems[0].Message, "at most")
	}
	large := Values{Shared: object(`{"a": [` + strings.Repeat("[1],", 100_000) + `2]}`)}
	for _, text := range []string{`{"in": [[2], "$shared.a"]}`,
		`{"eq": ["$shared.a", "$shared.a"]}`, `{"not": {"exists": "$shared.a[5]"}}`,
		`{"and": [` + strings.Repeat(`{"exists": "$shared.a"},`, 900) +
			`{"eq": ["$shared", 1]}]}`} {
		e, problems := Parse([]byte(text), "")
		require.Empty(t, problems)
		budget := 500_000
		_, err := e.Eval(large, &budget)
		require.ErrorIs(t, err, ErrBudget, text)
		require.Zero(t, budget)
	}
	e, _ := Parse([]byte(`{"in": [2, "$shared.a"]}`), "")
	budget := 10_000_000
	holds, err := e.Eval(large, &budget)
	require.NoError(t, err)
	require.True(t, holds)
	require.Less(t, budget, 10_000_000-400_000)
}

// S4.58: paths.
func TestPaths(t *testing.T) {
	text := []byte(` { "a" : { "b" : [ {"c": 1}, [ "x,]", "y" ] ], "é\"": 2, "b2": {} }, "a": {"b": [0, [7, {"c": "last"}]], "\u0061\"": 3} } `)
	for path, want := range map[string]string{
		"":            strings.TrimSpace(string(text)),
		"a.b[1][1].c": `"last"`,
		"a.b[1][0]":   "7",
		"a.b[2]":      "",
		"a.b.c":       "",
		"a[0]":        "",
		"[0]":         "",
		`a.a"`:        "3",
		"a.b[0]":      "0",
		"z":           "",
	} {
		p, err := ParsePath(path)
		require.NoError(t, err, path)
		require.Equal(t, want, strings.TrimSpace(string(p.In(text))), path)
	}
	p, err := ParsePath("a.b[0]")
	require.NoError(t, err)
	require.Equal(t, "a", p.First())
	require.Equal(t, "0", string(p.Of(object(text))))
	for _, wrong := range []string{".", "a.", ".a", "a..b", "a[", "a[]", "a[0]b", "a[0", "a[+1]",
		"a[1e3]", "a.[0]", strings.Repeat("a.", 200) + "a"} {
		_, err := ParsePath(wrong)
		require.Error(t, err, wrong)
	}
}
