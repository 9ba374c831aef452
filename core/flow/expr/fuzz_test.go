package expr

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// plain is the language once more, over decoded values and without any bound: what FuzzEval
// compares with.
type plain struct{ params, shared, input any }

func decoded(text []byte) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&value)
	return value
}

func (p plain) holds(e any) bool {
	object, is := e.(map[string]any)
	if !is {
		return p.text(p.value(e)) == "true"
	}
	operator := slices.Collect(maps.Keys(object))[0]
	list, _ := object[operator].([]any)
	switch operator {
	case "and":
		return !slices.ContainsFunc(list, func(e any) bool { return !p.holds(e) })
	case "or":
		return slices.ContainsFunc(list, p.holds)
	case "not":
		return !p.holds(object[operator])
	case "exists":
		return p.value(object[operator]) != nil
	}
	a, b := p.value(list[0]), p.value(list[1])
	switch operator {
	case "in":
		return p.contains(b, a)
	case "contains":
		return p.contains(a, b)
	}
	order := p.compare(a, b)
	return map[string]bool{"eq": order == 0, "ne": order != 0, "gt": order > 0, "ge": order >= 0,
		"lt": order < 0, "le": order <= 0}[operator]
}

func (p plain) contains(collection, value any) bool {
	switch c := collection.(type) {
	case string:
		return strings.Contains(c, p.text(value))
	case []any:
		return slices.ContainsFunc(c, func(e any) bool { return p.compare(e, value) == 0 })
	}
	return false
}

func (p plain) compare(a, b any) int {
	quote := func(v any) []byte { text, _ := json.Marshal(v); return text }
	x, first := numberOf(quote(a))
	y, second := numberOf(quote(b))
	if first && second {
		return x.compare(y)
	}
	return strings.Compare(p.text(a), p.text(b))
}

func (p plain) text(v any) string {
	if s, is := v.(string); is {
		return s
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func (p plain) value(v any) any {
	text, _ := v.(string)
	for root, value := range map[string]any{"$params": p.params, "$shared": p.shared,
		"$input": p.input} {
		if rest, is := strings.CutPrefix(text, root); is &&
			(rest == "" || rest[0] == '.' || rest[0] == '[') {
			return p.walk(value, strings.TrimPrefix(rest, "."))
		}
	}
	return v
}

func (p plain) walk(value any, path string) any {
	if path == "" {
		return value
	}
	for part := range strings.SplitSeq(path, ".") {
		name, indexes, _ := strings.Cut(part, "[")
		if name != "" {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		for index := range strings.SplitSeq(strings.TrimSuffix(indexes, "]"), "][") {
			n, err := strconv.Atoi(index)
			list, _ := value.([]any)
			if err == nil && n < len(list) {
				value = list[n]
			} else if index != "" {
				value = nil
			}
		}
	}
	return value
}

// FuzzEval: Parse and Eval end for every text, and Eval gives what the plain language gives.
func FuzzEval(f *testing.F) {
	for _, text := range []string{
		`{"and": [{"eq": ["$params.a", 1]}, {"not": {"in": ["x", "$shared.b[0].c"]}}]}`, `{"contains": ["$input", {"a": [1, 2]}]}`, `{"gt": ["$params", "$shared"]}`,
		`{"exists": "$input[0][1].a.b"}`, `{"or": [true, "x", null, {"le": ["1e5", 100000]}]}`, `{"lt": ["-0", 0.0]}`, `{"eq": [[{}, []], "$shared.b"]}`,
	} {
		f.Add([]byte(text), []byte(`{"a": 1, "a": "\u0031"}`),
			[]byte(`{"b": [{"c": "xyz"}, -1.5e3, null]}`), []byte(`[ [ 1 , {"a": {"b": true}} ] ]`))
	}
	f.Fuzz(func(t *testing.T, text, params, shared, input []byte) {
		e, problems := Parse(text, "")
		require.Equal(t, e == nil, len(problems) > 0)
		if e == nil {
			return
		}
		values := Values{Params: object(params), Shared: object(shared), Input: input}
		budget := 10 << 20
		holds, err := e.Eval(values, &budget)
		for _, value := range [][]byte{params, shared, input} {
			// Beyond, it only has to end: encoding/json has a depth, and replaces bytes that are
			// not UTF-8.
			if err != nil || !json.Valid(value) || !utf8.Valid(value) || !utf8.Valid(text) ||
				bytes.Contains(value, []byte(`\u`)) || bytes.Contains(text, []byte(`\u`)) {
				return
			}
		}
		first, _ := decoded(params).(map[string]any)
		second, _ := decoded(shared).(map[string]any)
		if first == nil || second == nil {
			return
		}
		require.Equal(t, plain{first, second, decoded(input)}.holds(decoded(text)), holds,
			"%s\n%s\n%s\n%s", text, params, shared, input)
	})
}

// FuzzLaws: laws that hold for all values.
func FuzzLaws(f *testing.F) {
	for _, pair := range [][2]string{{`1`, `"1.0"`}, {`null`, `"null"`},
		{`[1, {"a": 2}]`, `[1,{"a":2}]`}, {`"a"`, `"ab"`}, {`1e400`, `-1e400`}} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if !json.Valid(a) || !json.Valid(b) {
			return
		}
		values := Values{Input: slices.Concat([]byte("["), a, []byte(","), b, []byte("]"))}
		is := func(text string) bool {
			e, problems := Parse([]byte(text), "")
			require.Empty(t, problems)
			budget := 1 << 30
			holds, err := e.Eval(values, &budget)
			require.NoError(t, err)
			return holds
		}
		pair, swapped := `["$input[0]", "$input[1]"]`, `["$input[1]", "$input[0]"]`
		equal, less, greater := is(`{"eq": `+pair+`}`), is(`{"lt": `+pair+`}`),
			is(`{"gt": `+pair+`}`)
		count := 0
		for _, holds := range []bool{equal, less, greater} {
			if holds {
				count++
			}
		}
		require.Equal(t, 1, count, "exactly one of lt, eq, gt")
		require.Equal(t, equal, is(`{"eq": `+swapped+`}`))
		require.Equal(t, less, is(`{"gt": `+swapped+`}`))
		require.Equal(t, !equal, is(`{"ne": `+pair+`}`))
		require.Equal(t, !less, is(`{"ge": `+pair+`}`))
		require.Equal(t, is(`{"in": `+pair+`}`), is(`{"contains": `+swapped+`}`))
		require.True(t, is(`{"eq": ["$input[0]", "$input[0]"]}`))
		require.True(t, is(`{"in": ["$input[1]", "$input"]}`))
		require.Equal(t, is(`{"not": {"and": [{"lt": `+pair+`}, {"exists": "$input[0]"}]}}`),
			is(`{"or": [{"ge": `+pair+`}, {"not": {"exists": "$input[0]"}}]}`))
	})
}
