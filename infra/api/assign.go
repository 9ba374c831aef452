package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// readable says why values of a type cannot be read from a request; nil if they can.
func (all shapes) readable(t reflect.Type) error {
	switch reflect.New(t).Interface().(type) {
	case *history.Payload, *history.Attributes, *time.Duration, *time.Time:
		return nil
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return nil
	case reflect.Struct:
		_, err := all.newShape(t)
		return err
	case reflect.Pointer, reflect.Slice:
		return all.readable(t.Elem())
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return all.readable(t.Elem())
		}
	}
	return fmt.Errorf("a value of type %s is not read from requests", t)
}

// assign reads a valid JSON value into a field. null leaves it as it is. Errors name the field.
func (all shapes) assign(field reflect.Value, raw []byte, name string) error {
	if string(raw) == "null" {
		return nil
	}
	var err error
	switch into := field.Addr().Interface().(type) {
	case *history.Payload:
		err = assignPayload(into, raw)
	case *history.Attributes:
		err = assignAttributes(into, raw)
	case *time.Duration:
		err = assignDuration(into, raw)
	case *time.Time:
		err = assignTime(into, raw)
	default:
		return all.assignKind(field, raw, name)
	}
	return refused(name, err)
}

// refused is the error of a field whose value is not taken.
func refused(name string, err error) error {
	if err == nil {
		return nil
	}
	return invalid(fmt.Sprintf("field %q %v", name, err))
}

func (all shapes) assignKind(field reflect.Value, raw []byte, name string) error {
	switch field.Kind() {
	case reflect.String:
		text, err := textOf(raw)
		field.SetString(text)
		return refused(name, err)
	case reflect.Bool:
		if raw[0] != 't' && raw[0] != 'f' {
			return refused(name, errors.New("must be true or false, not "+kindOf(raw)))
		}
		field.SetBool(raw[0] == 't')
		return nil
	case reflect.Int, reflect.Int64:
		n, err := numberOf(raw)
		field.SetInt(n)
		return refused(name, err)
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		return all.assign(field.Elem(), raw, name)
	case reflect.Struct:
		if raw[0] != '{' {
			return refused(name, errors.New("must be an object, not "+kindOf(raw)))
		}
		return all.decodeObject(raw, field, name+".")
	case reflect.Slice:
		return all.assignList(field, raw, name)
	default: // a map: see readable
		return all.assignMap(field, raw, name)
	}
}

func (all shapes) assignList(field reflect.Value, raw []byte, name string) error {
	if raw[0] != '[' {
		return refused(name, errors.New("must be a list, not "+kindOf(raw)))
	}
	list := reflect.MakeSlice(field.Type(), 0, 0)
	values := scanner{text: raw[1:]}
	for {
		value, more := values.element()
		if !more {
			field.Set(list)
			return nil
		}
		element := reflect.New(field.Type().Elem()).Elem()
		if err := all.assign(element, value, name+"["+strconv.Itoa(list.Len())+"]"); err != nil {
			return err
		}
		list = reflect.Append(list, element)
	}
}

func (all shapes) assignMap(field reflect.Value, raw []byte, name string) error {
	if raw[0] != '{' {
		return refused(name, errors.New("must be an object, not "+kindOf(raw)))
	}
	field.Set(reflect.MakeMap(field.Type()))
	values := scanner{text: raw[1:]}
	for {
		key, value, more := values.next()
		if !more {
			return nil
		}
		element := reflect.New(field.Type().Elem()).Elem()
		if err := all.assign(element, value, name+"."+string(key)); err != nil {
			return err
		}
		field.SetMapIndex(reflect.ValueOf(string(key)).Convert(field.Type().Key()), element)
	}
}

func textOf(raw []byte) (text string, err error) {
	if raw[0] != '"' {
		return "", errors.New("must be a text, not " + kindOf(raw))
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	err = json.Unmarshal(raw, &text)
	return text, err
}

func numberOf(raw []byte) (int64, error) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		return n, nil
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return 0, fmt.Errorf("must be a whole number of at most 64 bits, not %.40s", raw)
	}
	return 0, errors.New("must be a whole number, not " + kindOf(raw))
}

func assignDuration(into *time.Duration, raw []byte) error {
	text, err := textOf(raw)
	if err != nil {
		return errors.New("must be a duration such as \"30s\" or \"1h15m\", not " + kindOf(raw))
	}
	if *into, err = time.ParseDuration(text); err != nil {
		return fmt.Errorf("must be a duration such as \"30s\" or \"1h15m\", not %.40q", text)
	}
	return nil
}

func assignTime(into *time.Time, raw []byte) error {
	text, err := textOf(raw)
	if err != nil {
		return errors.New("must be a time such as \"2026-01-31T08:00:00Z\", not " + kindOf(raw))
	}
	if *into, err = time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("must be a time such as \"2026-01-31T08:00:00Z\", not %.40q", text)
	}
	return nil
}

func assignAttributes(into *history.Attributes, raw []byte) error {
	if raw[0] != '{' {
		return errors.New("must be an object, not " + kindOf(raw))
	}
	*into = history.Attributes{}
	values := scanner{text: raw[1:]}
	for {
		name, value, more := values.next()
		if !more {
			return nil
		}
		if string(value) == "null" { // as in a change of attributes, null is none
			continue
		}
		var attribute history.Payload
		if err := assignPayload(&attribute, value); err != nil {
			return fmt.Errorf("has the attribute %.100q, which %w", name, err)
		}
		(*into)[string(name)] = attribute
	}
}

func assignPayload(into *history.Payload, raw []byte) error {
	if history.TooDeep(raw) {
		return fmt.Errorf("is nested more deeply than %d levels", history.MaxDepth)
	}
	*into = onOneLine(raw)
	return nil
}

// onOneLine takes out the white space between a payload's values if it has line breaks: a stored
// record is one line. All values stay as they were written. The text is valid JSON, and is changed
// in its place.
func onOneLine(raw []byte) history.Payload {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	kept, quoted := raw[:0], false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			kept = append(kept, c)
			i++
			c = raw[i]
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// kindOf says in words what a JSON value is.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
