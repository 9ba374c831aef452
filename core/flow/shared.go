package flow

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// runtimeKey is the key of the engine's own data in the shared state of seed 004 (S4.46). Here that
// data lies outside of the shared state, and the key stays reserved: it marks the input of a run
// that continued as new.
const runtimeKey = "_rt"

// object is a JSON object whose members stay JSON text: the shared state, and params.
type object map[string]json.RawMessage

// Member gives a member's JSON; nil if there is none.
func (o object) Member(name string) []byte { return o[name] }

// JSON gives the whole object. Its names are in order. The members are JSON already: they are only
// copied, since a flow may do this often.
func (o object) JSON() []byte {
	text := make([]byte, 0, o.size()+6*len(o)+2)
	text = append(text, '{')
	for i, name := range slices.Sorted(maps.Keys(o)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, encode(name)...)
		text = append(text, ':')
		text = append(text, orNull(o[name])...)
	}
	return append(text, '}')
}

// size is how many bytes the members have.
func (o object) size() (bytes int) {
	for name, value := range o { // order-insensitive: a sum
		bytes += len(name) + len(value)
	}
	return bytes
}

// with gives the object with other members over its own.
func (o object) with(over object) object {
	if len(over) == 0 {
		return o
	}
	merged := make(object, len(o)+len(over))
	for _, members := range []object{o, over} {
		for name, value := range members { // order-insensitive: each name once
			merged[name] = value
		}
	}
	return merged
}

// isNull says whether a value is null or missing.
func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// encode writes a value of this package as JSON.
func encode(value any) json.RawMessage {
	text, err := history.Marshal(value)
	if err != nil {
		panic("flow: not JSON: " + err.Error())
	}
	return text
}
