package history

import (
	"maps"
	"slices"
	"strconv"
)

// Attributes are what runs are searched by: JSON values by name.
type Attributes map[string]Payload

// Sorted lists the names in order.
func (a Attributes) Sorted() []string { return slices.Sorted(maps.Keys(a)) }

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
