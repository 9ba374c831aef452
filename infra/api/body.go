package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// longestBody holds the largest payload and what goes with it.
const longestBody = history.MaxPayload + 1<<20

// shape is what a body may say: the fields of a struct by their JSON names.
type shape struct {
	names    []string
	required []string
	index    map[string]int
	nonempty map[string]bool // texts that may be left out, and not be empty
}

func newShape(t reflect.Type) (*shape, error) {
	s := &shape{index: map[string]int{}, nonempty: map[string]bool{}}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || assign(reflect.New(field.Type).Interface(), []byte("null")) != nil {
			return nil, fmt.Errorf("%s.%s cannot be read from a request", t, field.Name)
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

// read reads the request's body into what into points to: a value of the endpoint's body type. Payloads in it are parts of
// the text that was read, which is nobody else's.
func (c *call) read(into any) error {
	text, err := c.readAll()
	if err != nil {
		return err
	}
	if len(text) > 0 {
		if err := checkContentType(c.r.Header.Get("Content-Type")); err != nil {
			return err
		}
	}
	return c.shape.decode(text, into)
}

// readAll reads the body into memory that the call claims: at once where its length is given, which
// may take a moment while others are served; else as it comes.
func (c *call) readAll() ([]byte, error) {
	size := c.r.ContentLength
	if size == 0 {
		return nil, nil
	}
	if size > longestBody {
		return nil, c.refuseBody(bodyTooLarge())
	}
	if size > freeBytes {
		err := c.fits(copiesOfBody * size)
		if err == nil {
			err = c.awaitRoom(copiesOfBody*size, c.config.Limits.RoomWithin)
		}
		if err != nil {
			return nil, c.refuseBody(err)
		}
	}
	body := &paced{body: http.MaxBytesReader(c.w, c.r.Body, longestBody), control: http.NewResponseController(c.w), begun: time.Now()}
	var text []byte
	for int64(len(text)) != size {
		if len(text) == cap(text) {
			var err error
			if text, err = c.grow(text, size); err != nil {
				return nil, c.refuseBody(err)
			}
		}
		n, err := body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) && (size < 0 || int64(len(text)) == size) {
			break
		} else if err != nil {
			return nil, notReceived(err, body)
		}
	}
	body.received()
	return text, nil
}

// grow makes room for the next part of a body of this size; negative: it is not known.
func (c *call) grow(text []byte, size int64) ([]byte, error) {
	const trusted = 1 << 20 // a larger length is believed when so much has come
	next := max(freeBytes, 2*int64(len(text)))
	switch {
	case size >= 0 && len(text) == 0:
		next = min(size, trusted)
	case size >= 0:
		next = size
	case next > freeBytes:
		if err := c.claim(copiesOfBody * next); err != nil {
			return nil, err
		}
	}
	return append(make([]byte, 0, next), text...), nil
}

// notReceived says why a body did not come.
func notReceived(err error, body *paced) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return bodyTooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problemError{http.StatusRequestTimeout, port.Unavailable,
			fmt.Sprintf("the request's body came too slowly: %d bytes in %s", body.had, time.Since(body.begun).Round(time.Second))}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return invalid("the request's body was not received: " + err.Error())
}

func bodyTooLarge() error {
	return &port.Error{Code: port.TooLarge, Message: fmt.Sprintf("the request's body has more than %d bytes; a value may have %d: store it elsewhere and pass where it is",
		longestBody, history.MaxPayload)}
}

func checkContentType(given string) error {
	if given == "application/json" || given == "" {
		return nil
	}
	if media, _, err := mime.ParseMediaType(given); err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")) {
		return nil
	}
	return &problemError{status: http.StatusUnsupportedMediaType, code: port.Invalid,
		message: fmt.Sprintf("a body of type %q is not read: send JSON with the header Content-Type: application/json", given)}
}

// decode reads a JSON object strictly: one pass checks the text, a second one only finds where the fields' values end.
func (s *shape) decode(data []byte, into any) error {
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
	value := reflect.ValueOf(into).Elem()
	var seen uint64
	fields := scanner{text: data[1:]}
	for {
		name, raw, more := fields.next()
		if !more {
			break
		}
		i, known := s.index[string(name)]
		if !known {
			return invalid(fmt.Sprintf("unknown field %.100q: the body takes %s", name, s.takes()))
		}
		if seen&(1<<i) != 0 {
			return invalid(fmt.Sprintf("field %q is given twice", name))
		}
		seen |= 1 << i
		if err := assign(value.Field(i).Addr().Interface(), raw); err != nil {
			return invalid(fmt.Sprintf("field %q %v", name, err))
		}
		if string(raw) == `""` && s.nonempty[string(name)] {
			return invalid(fmt.Sprintf("field %q is empty: give a value, or leave the field out to have one made", name))
		}
	}
	for _, name := range s.required {
		if seen&(1<<s.index[name]) == 0 {
			return invalid(fmt.Sprintf("field %q is missing: the body takes %s", name, s.takes()))
		}
	}
	return nil
}

func (s *shape) takes() string { return strings.Join(s.names, ", ") }

func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return invalid("the body is not UTF-8 text")
	}
	if json.Valid(data) {
		return nil
	}
	err := json.Unmarshal(data, new(json.RawMessage))
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return invalid(fmt.Sprintf("the body is not JSON: %v, at byte %d", err, syntax.Offset))
	}
	return invalid(fmt.Sprintf("the body is not JSON: %v", err))
}

// assign reads a valid JSON value into a field. null leaves it as it is.
func assign(field any, raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	switch into := field.(type) {
	case *string:
		return assignText(into, raw)
	case *bool:
		*into = raw[0] == 't'
		if raw[0] != 't' && raw[0] != 'f' {
			return errors.New("must be true or false, not " + kindOf(raw))
		}
	case *int64:
		return assignNumber(into, raw)
	case *int:
		var n int64
		err := assignNumber(&n, raw)
		*into = int(n)
		return err
	case *history.Payload:
		return assignPayload(into, raw)
	case *history.Attributes:
		return assignAttributes(into, raw)
	default:
		return fmt.Errorf("has the type %T, which is not read here", field)
	}
	return nil
}

func assignText(into *string, raw []byte) error {
	if raw[0] != '"' {
		return errors.New("must be a text, not " + kindOf(raw))
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		*into = string(inner)
		return nil
	}
	return json.Unmarshal(raw, into)
}

func assignNumber(into *int64, raw []byte) error {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
			return fmt.Errorf("must be a whole number of at most 64 bits, not %.40s", raw)
		}
		return errors.New("must be a whole number, not " + kindOf(raw))
	}
	*into = n
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

// onOneLine takes out the white space between a payload's values if it has line breaks: a stored record is one line. All
// values stay as they were written. The text is valid JSON, and is changed in its place.
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
