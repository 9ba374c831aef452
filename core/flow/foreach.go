package flow

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/reprise-run/reprise/core/flow/expr"
)

// foreach calls a service for each element of its input (S4.51). Another input counts as an empty
// array (S4.53).
func (v *visit) foreach() (outcome, error) {
	input := v.frame.Now.Input
	v.leaveOutItems(input)
	var items []json.RawMessage
	if len(input) > 0 && input[0] == '[' {
		v.pace.work += len(input)
		items, _ = decode[[]json.RawMessage](input)
	}
	if len(items) > MaxCalls {
		return v.end(nil, "", failed(
			"the input has %d elements, the limit is %d: make it several tasks, or lists of lists",
			len(items), MaxCalls))
	}
	return v.fanOut(calls{
		total: len(items),
		size:  len(input),
		input: func(i int) json.RawMessage { return items[i] },
		serve: func(int) string { return v.node.Service },
		names: strconv.Itoa,
	})
}

// longestItems is how many bytes of items each call's params may repeat.
const longestItems = 16 << 10

// leaveOutItems takes the items out of the params of the calls, if they come from there as a whole
// and are many. Else each call of 10,000 would carry all 10,000 items.
func (v *visit) leaveOutItems(items json.RawMessage) {
	source := v.node.Prep.Key
	if source == nil || len(v.node.Prep.Map) > 0 || len(items) <= longestItems {
		return
	}
	name := source.reference.Path.First()
	if source.reference.Root != expr.Params || source.reference.Path.Len() != 1 || name == "" {
		return
	}
	params := maps.Clone(v.params)
	delete(params, name)
	v.params = params
}
