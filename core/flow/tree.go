package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a definition. Parse refuses larger ones before it reads them in detail.
const (
	MaxSource = 4 << 20 // bytes
	MaxDepth  = 200     // objects and arrays inside each other
	MaxValues = 250_000 // JSON values
	MaxNodes  = 10_000  // with those of subflows
	MaxNested = 16      // subflows inside each other
	MaxName   = 100     // bytes of a node's key, and of the names of services and workflows
)

// value is a JSON value of a definition, with its place in the source.
type value struct {
	kind       byte   // one of { [ " 0 t n: object, array, string, number, boolean, null
	text       string // of a string, number or boolean
	members    []member
	elements   []value
	start, end int
}

type member struct {
	name  string
	value value
}

// read gives the tree of a source; false if a problem makes further checks useless.
func (r *report) read(source []byte) (value, bool) {
	root := &place{}
	if len(source) > MaxSource {
		r.add(root,
			"the definition has %d bytes, the limit is %d: make it several flows, and call them "+
				"by \"workflow\"", len(source), MaxSource)
		return value{}, false
	}
	if at := invalidUTF8(source); at >= 0 {
		r.add(root, "%s: the text is not UTF-8: save it as UTF-8", position(source, at))
		return value{}, false
	}
	var whole json.RawMessage
	if err := json.Unmarshal(source, &whole); err != nil {
		at := position(source, offset(source, err))
		r.add(root, "%s: the definition is not JSON: %v", at, err)
		return value{}, false
	}
	if values, depth := measure(source); values > MaxValues || depth > MaxDepth {
		r.add(root,
			"the definition has more than %d values, or more than %d levels: make it several "+
				"flows, and call them by \"workflow\"", MaxValues, MaxDepth)
		return value{}, false
	}
	reader := &reader{report: r, source: source}
	return reader.value(root), true
}

// measure counts the values of JSON text, and its levels. An empty array counts as two.
func measure(source []byte) (values, depth int) {
	values, level := 1, 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '"':
			i = endOfString(source, i) - 1
		case '{', '[':
			values++
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
		case ',':
			values++
		}
	}
	return values, depth
}

// endOfString is the place after the string that begins at i.
func endOfString(source []byte, i int) int {
	for i++; source[i] != '"'; i++ {
		if source[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// reader makes a tree of values of a source that is valid JSON.
type reader struct {
	*report
	source []byte
	next   int // the place to read from
}

// token is the next byte that means something.
func (r *reader) token() byte {
	for ; ; r.next++ {
		switch c := r.source[r.next]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			return c
		}
	}
}

func (r *reader) value(at *place) (v value) {
	c := r.token()
	v.start = r.next
	switch c {
	case '{', '[':
		v.kind = c
		r.next++
		r.inside(&v, at)
		r.next++ // the closing bracket
	case '"':
		v.kind, v.text = c, r.string()
	default:
		r.word(&v)
	}
	v.end = r.next
	return v
}

// inside reads the members of an object, or the elements of an array.
func (r *reader) inside(v *value, at *place) {
	var seen map[string]bool
	if v.kind == '{' {
		seen = map[string]bool{}
	}
	for c := r.token(); c != '}' && c != ']'; c = r.token() {
		if v.kind == '[' {
			v.elements = append(v.elements, r.value(at.at(strconv.Itoa(len(v.elements)))))
			continue
		}
		name := r.string()
		below := at.at(name)
		if seen[name] {
			r.add(below, "the name %q stands here twice: remove one of the two", cut(name))
		}
		seen[name] = true
		v.members = append(v.members, member{name, r.value(below)})
	}
}

func (r *reader) string() (text string) {
	quoted := r.source[r.next:endOfString(r.source, r.next)]
	r.next += len(quoted)
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}

// word reads a number, true, false or null.
func (r *reader) word(v *value) {
	start := r.next
	for r.next < len(r.source) && strings.IndexByte(" \t\n\r,]}", r.source[r.next]) < 0 {
		r.next++
	}
	v.text = string(r.source[start:r.next])
	switch v.text {
	case "true", "false":
		v.kind = 't'
	case "null":
		v.kind = 'n'
	default:
		v.kind = '0'
	}
}

// raw is the text of a value as it stands in the source.
func (v value) raw(source []byte) json.RawMessage {
	return json.RawMessage(source[v.start:v.end])
}

// zero says whether a value is null, false, 0, an empty string, or holds nothing else. Clients that
// write all fields write those that they do not use so.
func (v value) zero() bool {
	switch v.kind {
	case '{':
		for _, m := range v.members {
			if !m.value.zero() {
				return false
			}
		}
		return true
	case '[':
		return len(v.elements) == 0
	case '"':
		return v.text == ""
	case '0':
		return strings.Trim(mantissa(v.text), "-0.") == ""
	case 't':
		return v.text == "false"
	}
	return true
}

func mantissa(number string) string {
	before, _, _ := strings.Cut(strings.ToLower(number), "e")
	return before
}

// String names the type of a value, for a message.
func (v value) String() string {
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "the string " + strconv.Quote(cut(v.text))
	case '0':
		return "the number " + cut(v.text)
	case 't':
		return v.text
	}
	return "null"
}

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// offset is where the reader of JSON gave up.
func offset(source []byte, err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !strings.HasPrefix(syntax.Error(), "unexpected end") {
		return max(int(syntax.Offset)-1, 0)
	}
	return len(source)
}

// position names a place in a source for people.
func position(source []byte, at int) string {
	before := source[:min(at, len(source))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
	return "line " + strconv.Itoa(line) + ", column " + strconv.Itoa(column)
}
