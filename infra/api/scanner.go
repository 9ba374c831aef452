package api

import (
	"bytes"
	"encoding/json"
)

// scanner finds the fields of an object, or the values of a list, in text that is known to be JSON:
// it only has to see where each ends.
type scanner struct{ text []byte } // begins after the brace or bracket

// next gives a field's name and the text of its value, until there are no more.
func (s *scanner) next() (name, value []byte, more bool) {
	s.blank()
	if s.text[0] == ',' {
		s.text = s.text[1:]
		s.blank()
	}
	if s.text[0] == '}' {
		return nil, nil, false
	}
	quoted := s.take(endOfText(s.text))
	s.blank()
	s.text = s.text[1:] // the colon
	s.blank()
	return unquote(quoted), s.take(endOfValue(s.text)), true
}

// element gives the text of a list's next value, until there are no more.
func (s *scanner) element() (value []byte, more bool) {
	s.blank()
	if s.text[0] == ',' {
		s.text = s.text[1:]
		s.blank()
	}
	if s.text[0] == ']' {
		return nil, false
	}
	return s.take(endOfValue(s.text)), true
}

func (s *scanner) blank() {
	for s.text[0] == ' ' || s.text[0] == '\n' || s.text[0] == '\t' || s.text[0] == '\r' {
		s.text = s.text[1:]
	}
}

func (s *scanner) take(n int) []byte {
	taken := s.text[:n:n]
	s.text = s.text[n:]
	return taken
}

func unquote(quoted []byte) []byte {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var name string
	if json.Unmarshal(quoted, &name) != nil { // it was checked
		return quoted
	}
	return []byte(name)
}

// endOfText gives the length of a string with its quotes.
func endOfText(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// endOfValue gives the length of a value.
func endOfValue(text []byte) int {
	switch text[0] {
	case '"':
		return endOfText(text)
	case '{', '[':
		return endOfNested(text)
	}
	for i, b := range text { // a number or a word
		switch b {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
	}
	return len(text)
}

func endOfNested(text []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			i += endOfText(text[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
