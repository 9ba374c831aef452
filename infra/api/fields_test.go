package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// What is described must be what is written: each type of the engine with every field set has the described type's fields.
func TestDescriptionsMatchWhatIsWritten(t *testing.T) {
	one := history.Payload("1")
	failed := &history.Failure{FailureKind: "x", Type: "x", Message: "x", NonRetryable: true, RetryAfter: 1, Details: one, Stack: "x", Cause: &history.Failure{}}
	for _, c := range []struct{ written, described any }{
		{history.Parent{}, parent{}},
		{failed, failure{}},
		{json.RawMessage(history.AppendExport(nil,
			&history.Export{Keys: map[string]string{"2026-11": "kms:table:AQ=="},
				Definition: &history.ExportedDefinition{}})), exported{}},
	} {
		text, err := json.Marshal(c.written)
		require.NoError(t, err)
		var written map[string]any
		require.NoError(t, json.Unmarshal(text, &written))
		described := reflect.TypeOf(c.described)
		var names []string
		for i := range described.NumField() {
			name, _, _ := strings.Cut(described.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
			require.Contains(t, written, name, "%T is described with it", c.written)
		}
		for name := range written {
			require.True(t, slices.Contains(names, name), "%T writes %s, which is not described", c.written, name)
		}
	}
}

// FuzzDecode compares the strict reading of a body with encoding/json: what one accepts the other must read alike, and no
// text may make the scanner run past its end.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"run":"a","workflow":"w","input":{"a":[1,"}\\\""]},"attributes":{"b":null},"reuse":true}`, ` { "workflow" : "w\u00e9" , "input" : 1e9 } `,
		`{"workflow":"w","input":[[],{}]}`, `{"\u0069d":"x","workflow":"w"}`, `[`, `"`, `{"workflow":"w","input":"\\"}`, "{\"workflow\":\"w\",\"input\":[\n1]}"} {
		f.Add([]byte(seed))
	}
	type start struct {
		ID         string             `json:"id,omitempty"`
		Workflow   string             `json:"workflow"`
		Input      history.Payload    `json:"input,omitempty"`
		Attributes history.Attributes `json:"attributes,omitempty"`
		Reuse      bool               `json:"reuse,omitempty"`
	}
	shapes := shapes{}
	_, err := shapes.newShape(reflect.TypeFor[start]())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		var strict, lax start
		if err := shapes.decode(slices.Clone(text), &strict); err != nil {
			require.Equal(t, port.Invalid, port.CodeOf(err))
			return
		}
		require.NoError(t, json.Unmarshal(text, &lax))
		require.Equal(t, lax.ID, strict.ID)
		require.Equal(t, lax.Workflow, strict.Workflow)
		require.Equal(t, lax.Reuse, strict.Reuse)
		require.Equal(t, string(onOneLine(lax.Input)), string(strict.Input))
		for name, value := range lax.Attributes {
			require.Equal(t, string(onOneLine(value)), string(strict.Attributes[name]))
		}
	})
}

// What nests is read as strictly, and an error names the place.
func TestNestedBodies(t *testing.T) {
	type step struct {
		Name string        `json:"name"`
		Wait time.Duration `json:"wait,omitempty"`
		Else *step         `json:"else,omitempty"`
	}
	type plan struct {
		Steps []step           `json:"steps"`
		Caps  map[string]int   `json:"caps,omitempty"`
		Tags  []string         `json:"tags,omitempty"`
		At    time.Time        `json:"at,omitempty"`
		Input *history.Payload `json:"input,omitempty"`
	}
	shapes := shapes{}
	_, err := shapes.newShape(reflect.TypeFor[plan]())
	require.NoError(t, err)

	var read plan
	require.NoError(t, shapes.decode([]byte(`{"steps": [ {"name":"a","wait":"1m30s","else":{"name":"b"}}, {"name":"c"} ],
		"caps": {"x": 3}, "tags": ["p","q"], "at": "2026-01-31T08:00:00Z", "input": [1, 2]}`), &read))
	one := history.Payload("[1, 2]")
	require.Equal(t, plan{Steps: []step{{"a", 90 * time.Second, &step{Name: "b"}}, {Name: "c"}},
		Caps:  map[string]int{"x": 3},
		Tags:  []string{"p", "q"},
		At:    time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC),
		Input: &one}, read)

	for text, says := range map[string]string{
		`{"steps":{}}`:                                   `field "steps" must be a list, not an object`,
		`{"steps":[{"name":"a"},3]}`:                     `field "steps[1]" must be an object, not a number`,
		`{"steps":[{"nam":"a"}]}`:                        `unknown field "steps[0].nam": steps[0] takes name, wait, else`,
		`{"steps":[{"name":"a","name":"b"}]}`:            `field "steps[0].name" is given twice`,
		`{"steps":[{"name":"a","else":{}}]}`:             `field "steps[0].else.name" is missing: steps[0].else takes name, wait, else`,
		`{"steps":[{"name":"a","wait":3}]}`:              `field "steps[0].wait" must be a duration such as "30s" or "1h15m", not a number`,
		`{"steps":[{"name":"a","wait":"soon"}]}`:         `field "steps[0].wait" must be a duration such as "30s" or "1h15m", not "soon"`,
		`{"steps":[],"caps":[]}`:                         `field "caps" must be an object, not a list`,
		`{"steps":[],"caps":{"x":"3"}}`:                  `field "caps.x" must be a whole number, not a text`,
		`{"steps":[],"tags":["a",1]}`:                    `field "tags[1]" must be a text, not a number`,
		`{"steps":[],"at":"yesterday"}`:                  `field "at" must be a time such as "2026-01-31T08:00:00Z", not "yesterday"`,
		`{"steps":[],"at":1}`:                            `field "at" must be a time such as "2026-01-31T08:00:00Z", not a number`,
		`{"steps":[],"caps":{"x":12345678901234567890}}`: `field "caps.x" must be a whole number of at most 64 bits, not 12345678901234567890`,
	} {
		require.EqualError(t, shapes.decode([]byte(text), &plan{}), says, text)
	}
	_, err = shapes.newShape(reflect.TypeFor[struct {
		F func() `json:"f"`
	}]())
	require.ErrorContains(t, err,
		"a value of type func() is not read from requests", "a declaration that cannot be served "+
			"is found at the start")
}
