package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// MaxPayload is the size limit of one payload in bytes (50 MB): what an input, a result or the details of a failure may be.
const MaxPayload = 50 << 20

// MaxDepth is how deeply lists and objects of one payload may be nested. Readers of JSON have a limit (10,000 in Go), and a
// payload travels within other objects: what was accepted must be readable wherever it stands.
const MaxDepth = 5000

// TooDeep says whether JSON text is nested more deeply than a payload may be.
func TooDeep(text []byte) bool {
	if len(text) <= 2*MaxDepth { // each level opens and closes
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

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

// Marshal gives a value's JSON, in which payloads keep their text: json.Marshal would have < in them become \u003c.
func Marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// Equal compares byte by byte: the same Go value always encodes to the same text (encoding/json sorts map keys).
func (p Payload) Equal(other Payload) bool { return bytes.Equal(p, other) }

// Encode turns a Go value into a payload. A Payload is taken as it is, if it is JSON. What is null in JSON is no value, as
// it will be when it is read back: a replay must find what the first run saw.
func Encode(value any) (Payload, error) {
	var text Payload
	switch value := value.(type) {
	case struct{}:
		return nil, nil
	case int: // by far the most frequent of the simple types, as ids and counts
		text = strconv.AppendInt(nil, int64(value), 10)
	case Payload:
		if len(value) > 0 && !json.Valid(value) {
			return nil, fmt.Errorf("%s is not JSON", abbreviate(value))
		}
		text = bytes.TrimSpace(value)
	default:
		var err error
		if text, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("%T cannot be encoded as JSON: %w", value, err)
		}
	}
	if len(text) > MaxPayload {
		return nil, fmt.Errorf("%T is %d bytes as JSON, the limit is %d: store it elsewhere and pass where it is", value, len(text), MaxPayload)
	}
	if TooDeep(text) {
		return nil, fmt.Errorf("%T is nested more than %d levels deep as JSON: a list of its parts is not", value, MaxDepth)
	}
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
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
	case *int:
		if n, ok := plainInt(p); ok {
			*into = n
			return value, nil
		}
	}
	if err := json.Unmarshal(p, &value); err != nil {
		return value, fmt.Errorf("%s is not a %T: %w", abbreviate(p), value, err)
	}
	return value, nil
}

// plainInt reads a whole number that JSON writes without ado; encoding/json does the rest.
func plainInt(p Payload) (n int, ok bool) {
	const surelyFits = 18
	if len(p) > surelyFits || p[0] == '0' && len(p) > 1 {
		return 0, false
	}
	for _, c := range p {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// abbreviate shows the beginning of a text in an error: the error of a run lies in its summary, which must stay short.
func abbreviate[T ~string | ~[]byte](text T) string {
	const most = 120
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + fmt.Sprintf("… (%d bytes)", len(text))
}
