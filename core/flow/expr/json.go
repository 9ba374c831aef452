package expr

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Values stay JSON text until they are compared. Reading a member of a large value then needs no
// memory. The functions of this file expect valid JSON. With other text they find nothing, and end.

// members gives the names, still quoted, and the values of a JSON object.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for i := inside(object, '{'); i < len(object); {
			name := object[i:skip(object, i)]
			start := blank(object, i+len(name))
			end := skip(object, start)
			if len(name) == 0 || end <= start || !yield(name, object[start:end]) {
				return
			}
			i = blank(object, end)
		}
	}
}

// elements gives the elements of a JSON array.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := inside(array, '['); i < len(array); {
			end := skip(array, i)
			if end <= i || !yield(array[i:end]) {
				return
			}
			i = blank(array, end)
		}
	}
}

// inside is the place of the first value in an object or array; the end, if the text is neither.
func inside(text []byte, open byte) int {
	i := blank(text, 0)
	if i >= len(text) || text[i] != open {
		return len(text)
	}
	return blank(text, i+1)
}

// blank is the next place from i on that belongs to a value; the end, if the object or array
// closes.
func blank(text []byte, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\n', '\r', ',', ':':
		case '}', ']':
			return len(text)
		default:
			return i
		}
	}
	return i
}

// skip is the place after the value that begins at i.
func skip(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
			continue
		default:
			i = skipWord(text, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func skipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// skipWord is the place after a number, true, false or null.
func skipWord(text []byte, i int) int {
	end := bytes.IndexAny(text[i:], " \t\n\r,:{}[]\"")
	if end < 0 {
		return len(text)
	}
	return i + end
}

// member gives the value of an object's member. Of several members of one name the last counts, as
// it does for encoding/json.
func member(object []byte, name string) (found []byte) {
	for quoted, value := range members(object) {
		if unquote(quoted) == name {
			found = value
		}
	}
	return found
}

// element gives an element of an array.
func element(array []byte, n int) []byte {
	for value := range elements(array) {
		if n == 0 {
			return value
		}
		n--
	}
	return nil
}

// unquote gives the text of a JSON string; empty, if it is not one.
func unquote(quoted []byte) string {
	if len(quoted) < 2 || quoted[0] != '"' {
		return ""
	}
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // the text stays empty if this is not a string
	return text
}

// isNull says whether a value is null or missing.
func isNull(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) == 0 || string(value) == "null"
}

// canonical gives the same text for equal objects and arrays, however they were written.
func canonical(value []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return string(value)
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return string(value)
	}
	return string(text)
}
