package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// runtimeKey is the key of the engine's own data in the shared state of seed 004 (S4.46). Here
// that data lies outside of the shared state, and the key stays reserved: it marks the input of a
// run that continued as new.
const runtimeKey = "_rt"

// object is a JSON object with members that stay JSON text: the shared state, and params.
type object map[string]json.RawMessage

// Member gives a member's JSON; nil if there is none.
func (o object) Member(name string) []byte { return o[name] }

// JSON gives the whole object. Its names are in order. The members are JSON already: they are only
// copied, since a flow may do this often.
func (o object) JSON() []byte {
	text := []byte{'{'}
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

// shared is the shared state of a flow. It counts its bytes, and knows in which order its keys
// came, so that a write costs the same however many keys there are.
type shared struct {
	object
	keys  []string
	bytes int
}

// MaxShared is how many bytes the shared state of one flow has at most, and MaxKeys how many keys.
const (
	MaxShared = 20 << 20
	MaxKeys   = 100_000
)

// write sets a key.
func (s *shared) write(key string, value json.RawMessage) error {
	value = orNull(value)
	before, has := s.object[key]
	size := s.bytes + len(value) - len(before)
	if !has {
		size += len(key)
	}
	switch {
	case tooDeep(value):
		return fmt.Errorf("the value of %q is nested more than %d levels deep", cut(key), maxLevels)
	case size > MaxShared:
		return fmt.Errorf("with %q, the shared state would have %d bytes, the limit is %d: store "+
			"large values elsewhere, and pass where they are", cut(key), size, MaxShared)
	case !has && len(s.keys) >= MaxKeys:
		return fmt.Errorf("with %q, the shared state would have more than %d keys: put many values "+
			"under one key", cut(key), MaxKeys)
	case !has:
		s.keys = append(s.keys, key)
	}
	s.object[key], s.bytes = value, size
	return nil
}

// maxLevels is how many levels a value of the shared state has at most. The result of a run, the
// inputs of calls and the next generation contain it.
const maxLevels = history.MaxDepth - 100

func tooDeep(value json.RawMessage) bool {
	if len(value) <= 2*maxLevels { // each level opens and closes
		return false
	}
	_, depth := measure(value)
	return depth > maxLevels
}

// MarshalJSON gives the object.
func (s *shared) MarshalJSON() ([]byte, error) { return s.JSON(), nil }

// UnmarshalJSON reads the object. Its keys then come in alphabetical order.
func (s *shared) UnmarshalJSON(text []byte) error {
	members, err := decode[object](text)
	if err != nil {
		return err
	}
	*s = *newShared()
	for _, key := range slices.Sorted(maps.Keys(members)) {
		s.keys = append(s.keys, key)
		s.object[key] = members[key]
		s.bytes += len(key) + len(members[key])
	}
	return nil
}

func newShared() *shared { return &shared{object: object{}} }

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
