package history

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxPayload is the size limit of one payload in bytes (50 MB): what an input, a result or the details of a failure may be.
const MaxPayload = 50 << 20

// Payload is a value of the author's, as JSON text. A nil Payload is no value at all, and decodes like null.
type Payload []byte

// MarshalJSON makes a payload appear as the JSON that it is.
func (p Payload) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	return p, nil
}

// UnmarshalJSON keeps a copy of the text.
func (p *Payload) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*p = nil
		return nil
	}
	*p = bytes.Clone(text)
	return nil
}

// Equal compares byte by byte: the same Go value always encodes to the same text (encoding/json sorts map keys).
func (p Payload) Equal(other Payload) bool { return bytes.Equal(p, other) }

// Encode turns a Go value into a payload. A Payload is taken as it is.
func Encode(value any) (Payload, error) {
	switch value := value.(type) {
	case Payload:
		return value, nil
	case struct{}:
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be encoded as JSON: %w", value, err)
	}
	if len(text) > MaxPayload {
		return nil, fmt.Errorf("%T is %d bytes as JSON, the limit is %d: store it elsewhere and pass where it is", value, len(text), MaxPayload)
	}
	return text, nil
}

// Decode reads a payload into a Go value of type T. No payload gives the zero value.
func Decode[T any](p Payload) (T, error) {
	var value T
	if len(p) == 0 {
		return value, nil
	}
	switch into := any(&value).(type) {
	case *Payload:
		*into = p
		return value, nil
	case *struct{}:
		return value, nil
	}
	if err := json.Unmarshal(p, &value); err != nil {
		return value, fmt.Errorf("%s is not a %T: %w", abbreviate(p), value, err)
	}
	return value, nil
}

// abbreviate shows the beginning of a payload in an error.
func abbreviate(p Payload) string {
	const most = 120
	if len(p) <= most {
		return string(p)
	}
	return string(bytes.ToValidUTF8(p[:most], nil)) + fmt.Sprintf("… (%d bytes)", len(p))
}
