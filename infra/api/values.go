package api

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/client"
)

func (h *Handler) valueEndpoint() endpoint {
	names := make([]any, 0, len(engine.Values()))
	for _, name := range engine.Values() {
		names = append(names, name)
	}
	return endpoint{method: http.MethodGet, path: "/v1/runs/{run}/values/{value}", id: "get-value", tag: "runs", summary: "Read a value of a run, whole",
		describe: "Summaries leave long values out, and name them under large. The text is the value's JSON. Where a gateway limits answers, it comes " +
			"in pieces: as long as an answer has the header " + client.NextHeader + ", the same request with that as after gives the next piece.",
		params: []*huma.Param{runParam(), {Name: "value", In: "path", Required: true, Description: "Which value.", Example: "result",
			Schema: &huma.Schema{Type: huma.TypeString, Enum: names}},
			queryParam("after", "The next piece after this place: "+client.NextHeader+" of the piece before.", matching(spotPattern), nil)},
		answers: map[int]reply{http.StatusOK: {"The value, or a piece of its text.", json.RawMessage(nil), client.NextHeader}},
		fails:   []engine.Code{engine.NotFound, engine.Conflict, engine.Blocked}, serve: (*call).getValue}
}

// spot is a place in the text of a value, which tells the value from another one that has taken its
// place.
type spot struct {
	sum   uint32
	bytes int
}

func (s spot) String() string { return fmt.Sprintf("%08x.%d", s.sum, s.bytes) }

func parseSpot(given string) (s spot, err error) {
	if given == "" {
		return s, nil
	}
	const hexadecimal, bits, digits = 16, 32, 8
	if len(given) > digits && given[digits] == '.' {
		var sum uint64
		sum, err = strconv.ParseUint(given[:digits], hexadecimal, bits)
		if err == nil {
			s.sum = uint32(sum)
			s.bytes, err = strconv.Atoi(given[digits+1:])
		}
	}
	if err != nil || s.bytes < 1 || s.String() != given {
		return spot{}, invalid(fmt.Sprintf("%.100q is not a place in a value: take it from the header %s of the piece before", given, client.NextHeader))
	}
	return s, nil
}

// getValue streams a value. It holds one piece of it while the caller takes that, however slow the
// caller is.
func (c *call) getValue() error {
	at, err := parseSpot(c.value("after"))
	if err != nil {
		return err
	}
	text, at, more, err := c.pieceOfValue(at, roomWithin)
	if err != nil {
		return err
	}
	if more && c.config.LongestAnswer > 0 {
		c.w.Header().Set(client.NextHeader, at.String())
		more = false
	}
	writeText(c.w, http.StatusOK, "application/json", text)
	for more {
		if text, at, more, err = c.pieceOfValue(at, time.Minute); err != nil {
			panic(http.ErrAbortHandler) // the answer has begun: only its missing end can say that it failed
		}
		writeMore(c.w, text)
	}
	return nil
}

// pieceOfValue reads the value, and copies the piece of its text after a place. It waits so long
// for the memory.
func (c *call) pieceOfValue(at spot, within time.Duration) (piece []byte, end spot, more bool, err error) {
	run := c.r.PathValue("run")
	size, err := c.engine.Size(c.r.Context(), run)
	if err == nil && size > freeBytes {
		err = c.awaitRoomToRead(copiesOfValue*size, within)
	}
	if err != nil {
		return nil, at, false, err
	}
	summary, err := c.engine.Get(c.r.Context(), run)
	if err != nil {
		return nil, at, false, err
	}
	whole, err := summary.Value(c.r.PathValue("value"))
	if err != nil {
		return nil, at, false, err
	}
	if whole == nil {
		whole = history.Payload("null")
	}
	sum := crc32.ChecksumIEEE(whole)
	if at.bytes > 0 && (sum != at.sum || at.bytes > len(whole)) {
		return nil, at, false, &engine.Error{Code: engine.Conflict, Message: fmt.Sprintf("the %s of run %q has changed since its first piece was read: read it again",
			c.r.PathValue("value"), run)}
	}
	to := min(at.bytes+pieceOfLog, len(whole))
	for to < len(whole) && !utf8.RuneStart(whole[to]) { // what carries it may take text alone
		to--
	}
	piece = append(make([]byte, 0, to-at.bytes), whole[at.bytes:to]...)
	c.release()
	if len(piece) > freeBytes { // while the caller takes it
		err = c.awaitRoom(int64(len(piece)), within)
	}
	return piece, spot{sum, to}, to < len(whole), err
}
