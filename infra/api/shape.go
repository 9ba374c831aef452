package api

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
)

// mostFields is how many fields an object of a body may have: see decodeObject.
const mostFields = 64

// shape is what an object may say: the fields of a struct by their JSON names.
type shape struct {
	names    []string
	required []string
	index    map[string]int
	nonempty map[string]bool // texts that may be left out, and not be empty
}

// shapes holds the shape of a body's type, and those of the structs in it.
type shapes map[reflect.Type]*shape

// newShape makes the shape of a struct. The error is a fault in the declaration of an endpoint.
func (all shapes) newShape(t reflect.Type) (*shape, error) {
	if s := all[t]; s != nil {
		return s, nil
	}
	s := &shape{index: map[string]int{}, nonempty: map[string]bool{}}
	all[t] = s
	if t.NumField() > mostFields {
		return nil, fmt.Errorf("%s has more than %d fields", t, mostFields)
	}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			return nil, fmt.Errorf("%s.%s has no name in JSON", t, field.Name)
		}
		if err := all.readable(field.Type); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t, field.Name, err)
		}
		s.names = append(s.names, name)
		s.index[name] = i
		if !strings.Contains(options, "omitempty") {
			s.required = append(s.required, name)
		} else if field.Tag.Get("minLength") != "" {
			s.nonempty[name] = true
		}
	}
	return s, nil
}

func (s *shape) takes() string { return strings.Join(s.names, ", ") }

// decode reads a body strictly: one pass checks the text, a second one only finds where the values
// end.
func (all shapes) decode(data []byte, into any) error {
	value := reflect.ValueOf(into).Elem()
	s := all[value.Type()]
	data = bytes.Trim(data, " \t\r\n")
	if len(data) == 0 {
		if len(s.required) > 0 {
			return invalid("the request has no body: it takes an object with " + s.takes())
		}
		return nil
	}
	if err := checkJSON(data); err != nil {
		return err
	}
	if data[0] != '{' {
		return invalid("the body is " + kindOf(data) + ": it must be an object with " + s.takes())
	}
	return all.decodeObject(data, value, "")
}

// decodeObject reads a JSON object into a struct. The path names the object in errors: "" is the
// body, "steps[2]." an object in it.
func (all shapes) decodeObject(data []byte, value reflect.Value, path string) error {
	s := all[value.Type()]
	var seen uint64
	fields := scanner{text: data[1:]}
	for {
		name, raw, more := fields.next()
		if !more {
			break
		}
		i, known := s.index[string(name)]
		if !known {
			return invalid(fmt.Sprintf("unknown field %.100q: %s takes %s", path+string(name),
				owner(path), s.takes()))
		}
		if seen&(1<<i) != 0 {
			return invalid(fmt.Sprintf("field %q is given twice", path+string(name)))
		}
		seen |= 1 << i
		if err := all.assign(value.Field(i), raw, path+string(name)); err != nil {
			return err
		}
		if string(raw) == `""` && s.nonempty[string(name)] {
			return invalid(fmt.Sprintf("field %q is empty: give a value, or leave the field out "+
				"to have one made", path+string(name)))
		}
	}
	for _, name := range s.required {
		if seen&(1<<s.index[name]) == 0 {
			return invalid(fmt.Sprintf("field %q is missing: %s takes %s", path+name, owner(path),
				s.takes()))
		}
	}
	return nil
}

func owner(path string) string {
	if path == "" {
		return "the body"
	}
	return strings.TrimSuffix(path, ".")
}
