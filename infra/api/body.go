package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// longestBody holds the largest payload and what goes with it.
const longestBody = history.MaxPayload + 1<<20

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
	return c.shapes.decode(text, into)
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
	return &port.Error{Code: port.TooLarge,
		Message: fmt.Sprintf("the request's body has more than %d bytes; a value may have %d: "+
			"store it elsewhere and pass where it is",
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
