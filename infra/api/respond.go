package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
)

// encoding is a buffer with the encoder that fills it.
type encoding struct {
	text    bytes.Buffer
	encoder *json.Encoder
}

var encodings = sync.Pool{New: func() any {
	e := &encoding{}
	e.encoder = json.NewEncoder(&e.text)
	e.encoder.SetEscapeHTML(false)
	return e
}}

// answer writes a successful answer.
func (c *call) answer(status int, body any) error {
	respond(c.w, status, "application/json", body)
	return nil
}

// respond writes an answer with a body.
func respond(w http.ResponseWriter, status int, contentType string, body any) {
	e := encodings.Get().(*encoding)
	defer func() {
		const kept = 64 << 10
		if e.text.Cap() <= kept {
			e.text.Reset()
			encodings.Put(e)
		}
	}()
	if err := e.encoder.Encode(body); err != nil { // something stored is not JSON
		e.text.Reset()
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		e.text.WriteString(`{"type":"urn:reprise:problem:internal","title":"A fault of ours","status":500,"code":"internal","detail":` +
			strconv.Quote("the answer cannot be encoded: "+err.Error()) + "}\n")
	}
	header := w.Header()
	header["Content-Type"] = []string{contentType}
	header["X-Content-Type-Options"] = noSniff
	header["Cache-Control"] = noStore
	w.WriteHeader(status)
	_, _ = w.Write(e.text.Bytes()) // the caller may have gone
}

var (
	noSniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)
