package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// encoding is a buffer with the encoder that fills it.
type encoding struct {
	text    bytes.Buffer
	encoder *json.Encoder
	err     error
}

var encodings = sync.Pool{New: func() any {
	e := &encoding{}
	e.encoder = json.NewEncoder(&e.text)
	e.encoder.SetEscapeHTML(false)
	return e
}}

// answer writes a successful answer, unless it is longer than answers may be: then the error has the code too-large.
func (c *call) answer(status int, body any) error {
	e := encode(body)
	defer e.free()
	if e.err == nil {
		if err := c.checkLength(e.text.Len()); err != nil {
			return err
		}
	}
	e.write(c.w, status, "application/json")
	return nil
}

// checkLength says of an answer that it is longer than answers may be here.
func (c *call) checkLength(size int) error {
	most := c.config.LongestAnswer
	if most == 0 || size <= most {
		return nil
	}
	done := "the"
	if c.r.Method != http.MethodGet {
		done = "it was done, but the"
	}
	return port.Errorf(port.TooLarge, "%s answer has %d bytes, and no more than %d can be given "+
		"here: get-value and get-record give values in pieces, and so does a run's export",
		done, size, most)
}

// respond writes an answer with a body.
func respond(w http.ResponseWriter, status int, contentType string, body any) {
	e := encode(body)
	defer e.free()
	e.write(w, status, contentType)
}

func encode(body any) *encoding {
	e := encodings.Get().(*encoding)
	e.err = e.encoder.Encode(body)
	return e
}

func (e *encoding) free() {
	const kept = 64 << 10
	if e.text.Cap() <= kept {
		e.text.Reset()
		encodings.Put(e)
	}
}

func (e *encoding) write(w http.ResponseWriter, status int, contentType string) {
	if e.err != nil { // something stored is not JSON
		e.text.Reset()
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		e.text.WriteString(`{"type":"urn:reprise:problem:internal","title":"A fault of ours","status":500,"code":"internal","detail":` +
			strconv.Quote("the answer cannot be encoded: "+e.err.Error()) + "}\n")
	}
	writeText(w, status, contentType, e.text.Bytes())
}

func writeText(w http.ResponseWriter, status int, contentType string, text []byte) {
	writeHead(w, status, contentType, len(text))
	_, _ = w.Write(text) // the caller may have gone
}

// writeHead begins an answer. The caller has time for so many bytes.
func writeHead(w http.ResponseWriter, status int, contentType string, size int) {
	header := w.Header()
	header["Content-Type"] = []string{contentType}
	header["X-Content-Type-Options"] = noSniff
	header["Cache-Control"] = noStore
	if size > freeBytes {
		hurryReader(w, size)
	}
	w.WriteHeader(status)
}

// hurryReader limits how long the caller may take for the next bytes.
func hurryReader(w http.ResponseWriter, bytes int) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(within(int64(bytes))))
}

var (
	noSniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)
