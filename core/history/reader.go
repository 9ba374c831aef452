package history

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// reader goes over JSON text once, from left to right. The first error stops it: every later call gives a zero value, so
// that only the end needs a check. Payloads are slices of the text, not copies.
type reader struct {
	data   []byte
	at     int
	err    error
	names  *names
	causes int // depth of the failure being read
	// fetch gets the payload that something else stands for; see [Encoder].
	fetch     func(place string) (Payload, error)
	elsewhere bool // the value that follows the last key stands for another one
	authors   bool // keys are the author's, not ours
	// checkpoints are read; else they are passed over.
	checkpoints bool
}

// names remembers short strings that come again and again: names of activities, units, authors.
type names struct{ known map[string]string }

const manyNames = 4096

func (n *names) get(text []byte) string {
	if n == nil || len(text) > 64 {
		return string(text)
	}
	if known, ok := n.known[string(text)]; ok {
		return known
	}
	if n.known == nil || len(n.known) == manyNames {
		n.known = make(map[string]string, 16)
	}
	known := string(text)
	n.known[known] = known
	return known
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %w", r.at, fmt.Errorf(format, args...))
		r.at = len(r.data)
	}
}

func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// peek gives the next character that is not space, or 0 at the end.
func (r *reader) peek() byte {
	r.space()
	if r.at == len(r.data) {
		return 0
	}
	return r.data[r.at]
}

func (r *reader) expect(c byte) bool {
	if r.peek() != c {
		r.fail("%q expected", c)
		return false
	}
	r.at++
	return true
}

// first enters an object and gives its first key.
func (r *reader) first() (key []byte, more bool) {
	if !r.expect('{') {
		return nil, false
	}
	if r.peek() == '}' {
		r.at++
		return nil, false
	}
	return r.key()
}

// next gives the key of the next member, once the value before it has been read.
func (r *reader) next() (key []byte, more bool) {
	switch r.peek() {
	case ',':
		r.at++
		return r.key()
	case '}':
		r.at++
	default:
		r.fail("',' or '}' expected")
	}
	return nil, false
}

func (r *reader) key() ([]byte, bool) {
	r.space()
	key := r.string()
	r.elsewhere = false
	if last := len(key) - 1; last > 0 && key[last] == elsewhere && !r.authors {
		key, r.elsewhere = key[:last], true
	}
	return key, r.expect(':')
}

// enter begins a list, and element says whether one more element follows.
func (r *reader) enter() bool {
	if !r.expect('[') {
		return false
	}
	if r.peek() == ']' {
		r.at++
		return false
	}
	return true
}

func (r *reader) element() bool {
	switch r.peek() {
	case ',':
		r.at++
		return true
	case ']':
		r.at++
	default:
		r.fail("',' or ']' expected")
	}
	return false
}

// string reads a string and gives its text: a slice of the data where there is no escape.
func (r *reader) string() []byte {
	if r.peek() != '"' {
		r.fail("a string expected")
		return nil
	}
	start, plain := r.at, true
	for r.at++; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			if plain {
				return r.data[start+1 : r.at-1]
			}
			var text string
			if err := json.Unmarshal(r.data[start:r.at], &text); err != nil {
				r.fail("%v", err)
			}
			return []byte(text)
		case c == '\\':
			plain = false
			r.at++
		case c < ' ':
			r.fail("a control character in a string")
			return nil
		case c >= 0x80: // encoding/json replaces what is not UTF-8
			plain = false
		}
	}
	r.fail("a string does not end")
	return nil
}

func (r *reader) text() string { return string(r.string()) }
func (r *reader) name() string { return r.names.get(r.string()) }

func (r *reader) int() int64 {
	r.space()
	start := r.at
	for r.at < len(r.data) && (r.data[r.at] == '-' || r.data[r.at] >= '0' && r.data[r.at] <= '9') {
		r.at++
	}
	n, err := strconv.ParseInt(string(r.data[start:r.at]), 10, 64)
	if err != nil {
		r.fail("a whole number expected")
	}
	return n
}

func (r *reader) flag() bool {
	raw := r.raw()
	switch string(raw) {
	case "true":
		return true
	case "false":
		return false
	}
	r.fail("true or false expected")
	return false
}

func (r *reader) duration() time.Duration {
	text := r.string()
	d, err := time.ParseDuration(string(text))
	if err != nil {
		r.fail("a duration like 1m30s expected, not %q", abbreviate(text))
	}
	return d
}

func (r *reader) time() time.Time {
	text := r.string()
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		r.fail("a time like 2006-01-02T15:04:05Z expected, not %q", abbreviate(text))
	}
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 { // it could not be written again
		r.fail("a time within four-digit years expected, not %q", abbreviate(text))
	}
	return t
}

func (r *reader) payload() Payload {
	if r.elsewhere {
		return r.fetched()
	}
	raw := r.raw()
	if string(raw) == "null" {
		return nil
	}
	return Payload(raw[:len(raw):len(raw)])
}

// words reads what [writer.words] wrote.
func (r *reader) words() string {
	if !r.elsewhere {
		return r.text()
	}
	text := ""
	if payload := r.fetched(); payload != nil {
		if err := json.Unmarshal(payload, &text); err != nil {
			r.fail("a text is kept elsewhere, and it is none: %w", err)
		}
	}
	return text
}

// fetched is a payload of which only what stands for it is here.
func (r *reader) fetched() Payload {
	place := r.text()
	switch {
	case r.err != nil:
		return nil
	case r.fetch == nil:
		r.fail("a payload is sealed, or kept elsewhere, as %q, and nothing here can open or fetch it", abbreviate(place))
		return nil
	}
	payload, err := r.fetch(place)
	if err != nil {
		r.fail("the payload at %q: %w", abbreviate(place), err)
	}
	return payload
}

func (r *reader) texts() (texts []string) {
	for more := r.enter(); more; more = r.element() {
		texts = append(texts, r.name())
	}
	return
}

func (r *reader) skip() { r.raw() }

// raw reads any value and gives its text. Depth is bounded, as in encoding/json, since a hostile text could exhaust the stack.
func (r *reader) raw() []byte {
	r.space()
	start := r.at
	r.pass(0)
	if r.err != nil {
		return nil
	}
	return r.data[start:r.at]
}

const mostNesting = 10_000

func (r *reader) pass(depth int) {
	if depth > mostNesting {
		r.fail("nested too deeply")
		return
	}
	switch c := r.peek(); {
	case c == '"':
		r.string()
	case c == '{':
		for _, more := r.first(); more; _, more = r.next() {
			r.pass(depth + 1)
		}
	case c == '[':
		for more := r.enter(); more; more = r.element() {
			r.pass(depth + 1)
		}
	default:
		start := r.at
		for r.at < len(r.data) && isLiteral(r.data[r.at]) {
			r.at++
		}
		if literal := r.data[start:r.at]; !json.Valid(literal) {
			r.at = start
			r.fail("a value expected")
		}
	}
}

func isLiteral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// finish says whether the text was read to its end without an error.
func (r *reader) finish() error {
	if r.err == nil && r.peek() != 0 {
		r.fail("text after the end")
	}
	return r.err
}

// kind finds the member "kind" of the object that comes next, without moving: it stands first in what we write, but a
// tool that sorts keys may have put it elsewhere.
func (r *reader) kind() string {
	const first = `{"kind":`
	ahead := reader{data: r.data, at: r.at}
	if rest := r.data[r.at:]; len(rest) > len(first) && string(rest[:len(first)]) == first {
		ahead.at += len(first)
		if kind := ahead.string(); ahead.err == nil {
			return r.names.get(kind)
		}
		ahead = reader{data: r.data, at: r.at}
	}
	for key, more := ahead.first(); more; key, more = ahead.next() {
		if string(key) == "kind" {
			kind := ahead.string()
			if ahead.err == nil {
				return r.names.get(kind)
			}
			break
		}
		ahead.skip()
	}
	if ahead.err != nil {
		r.err, r.at = ahead.err, len(r.data)
	} else {
		r.fail("an object without a kind")
	}
	return ""
}
