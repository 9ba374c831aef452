package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Attributes are what runs are searched by: JSON values by name.
type Attributes map[string]Payload

// Sorted lists the names in order.
func (a Attributes) Sorted() []string { return slices.Sorted(maps.Keys(a)) }

// Limits of a run's attributes. They are for searches, not for data.
const (
	MaxAttributes    = 100     // of one run
	MaxAttribute     = 4 << 10 // bytes of one value as JSON
	MaxAttributeName = 100     // bytes
)

// ErrLimit is the error of attributes that are too many, or too large.
var ErrLimit = errors.New("a limit is passed")

type limitError string

func (e limitError) Error() string      { return string(e) }
func (limitError) Is(target error) bool { return target == ErrLimit }

func passes(format string, args ...any) error { return limitError(fmt.Sprintf(format, args...)) }

// Check says why the attributes cannot be those of a run. It is [ErrLimit] where one of the limits
// is the reason.
func (a Attributes) Check() error {
	if len(a) > MaxAttributes {
		return passes("there are %d attributes, the limit is %d", len(a), MaxAttributes)
	}
	for _, name := range a.Sorted() {
		switch size := len(a[name]); {
		case name == "":
			return errors.New("the name of the attribute is missing")
		case len(name) > MaxAttributeName:
			return passes("the name of the attribute has %d bytes, the limit is %d", len(name), MaxAttributeName)
		case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("the name of the attribute, %q, must be UTF-8 without control characters", name)
		case size > MaxAttribute:
			return passes("attribute %q has %d bytes, the limit is %d: runs are searched by it, and it is no place for data", name, size, MaxAttribute)
		}
	}
	return nil
}

func (a Attributes) writeIf(w *writer) {
	if len(a) == 0 {
		return
	}
	w.name("attributes")
	w.begin()
	for _, key := range a.Sorted() {
		w.separate()
		w.element(key)
		w.out = append(w.out, ':')
		value := a[key]
		if len(value) == 0 {
			value = Payload("null")
		}
		w.out = append(w.out, value...)
		w.comma = true
	}
	w.end()
}

func readAttributes(r *reader) Attributes {
	attributes := Attributes{}
	r.authors = true
	defer func() { r.authors = false }()
	for key, more := r.first(); more; key, more = r.next() {
		name := string(key)
		attributes[name] = r.payload()
	}
	return attributes
}

// With gives the attributes after a change: one that is null removes an attribute.
func (a Attributes) With(change Attributes) Attributes {
	changed := maps.Clone(a)
	for _, name := range change.Sorted() {
		if value := change[name]; value == nil || string(value) == "null" {
			delete(changed, name)
			continue
		}
		if changed == nil {
			changed = Attributes{}
		}
		changed[name] = change[name]
	}
	return changed
}

// UpsertAttributes changes what the run is searched by. A null removes an attribute.
type UpsertAttributes struct {
	emitted
	Attributes Attributes
}

func (*UpsertAttributes) Kind() string { return "upsert-attributes" }
func (c *UpsertAttributes) Fields() (fields []Field) {
	for _, name := range c.Attributes.Sorted() {
		fields = append(fields, Field{name, string(c.Attributes[name])})
	}
	return
}

func (c *UpsertAttributes) write(w *writer) { c.Attributes.writeIf(w) }
func (c *UpsertAttributes) read(key []byte, r *reader) {
	if string(key) == "attributes" {
		c.Attributes = readAttributes(r)
	} else {
		r.skip()
	}
}

func formatSeed(seed uint64) string { return strconv.FormatUint(seed, 16) }

func parseSeed(r *reader) uint64 {
	text := r.string()
	seed, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil {
		r.fail("a seed in hexadecimal expected, not %q", abbreviate(text))
	}
	return seed
}
