package api

import (
	"context"
	"encoding/json"
	"errors"
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

// getValue gives a value: the next piece of it where answers are limited, else the whole.
func (c *call) getValue() error {
	at, err := parseSpot(c.value("after"))
	if err != nil {
		return err
	}
	size, err := c.engine.SizeOfSummary(c.r.Context(), c.r.PathValue("run"))
	switch {
	case err != nil:
		return err
	case c.config.LongestAnswer > 0 || size <= freeBytes:
		return c.giveValue(at, size)
	}
	return c.streamValue(at, size)
}

// giveValue gives a value, or a piece of it, from memory.
func (c *call) giveValue(at spot, size int64) error {
	text, sum, err := c.readValue(size, c.config.Limits.RoomWithin)
	if err == nil {
		err = c.isAt(at, len(text), sum)
	}
	if err != nil {
		return err
	}
	to := len(text)
	if c.config.LongestAnswer > 0 {
		to = min(at.bytes+pieceOfLog, len(text))
	}
	for to < len(text) && !utf8.RuneStart(text[to]) { // what carries it may take text alone
		to--
	}
	if to < len(text) {
		c.w.Header().Set(client.NextHeader, spot{sum, to}.String())
	}
	writeText(c.w, http.StatusOK, "application/json", text[at.bytes:to])
	return nil
}

// streamValue gives a long value part by part. However slowly the caller takes it, it holds no more
// than one part in memory.
func (c *call) streamValue(at spot, size int64) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), patienceForValues*c.config.Limits.RoomWithin)
	defer cancel()
	read := func() ([]byte, uint32, error) {
		end, _ := ctx.Deadline()
		return c.readValue(size, time.Until(end))
	}
	value, leave, err := c.copies.take(ctx, c.r.PathValue("value")+" "+c.r.PathValue("run"), read)
	c.release()
	if errors.Is(err, context.DeadlineExceeded) {
		err = c.crowded(copiesOfValue * size)
	}
	if err != nil {
		return err
	}
	defer leave()
	if err := c.isAt(at, value.size, value.sum); err != nil {
		return err
	}
	c.w.Header().Set("Content-Length", strconv.Itoa(value.size-at.bytes))
	writeHead(c.w, http.StatusOK, "application/json", pieceOfLog)
	var buffer []byte
	for from, paced := at.bytes, at.bytes; from < value.size; {
		if buffer, err = value.part(from/scratchPart, buffer); err != nil {
			panic(http.ErrAbortHandler) // the answer has begun: only its missing end can say that it failed
		}
		if from-paced >= pieceOfLog { // the time for the next piece begins
			hurryReader(c.w, pieceOfLog)
			paced = from
		}
		n, err := c.w.Write(buffer[from%scratchPart:])
		if err != nil {
			return nil //nolint:nilerr // the caller has gone
		}
		from += n
	}
	return nil
}

// readValue reads a value whole, into memory that the call claims. It waits so long for that.
func (c *call) readValue(size int64, within time.Duration) (text []byte, sum uint32, err error) {
	if size > freeBytes {
		if err := c.awaitRoomToRead(copiesOfValue*size, within); err != nil {
			return nil, 0, err
		}
	}
	summary, err := c.engine.Get(c.r.Context(), c.r.PathValue("run"))
	if err != nil {
		return nil, 0, err
	}
	whole, err := summary.Value(c.r.PathValue("value"))
	if err != nil {
		return nil, 0, err
	}
	if whole == nil {
		whole = history.Payload("null")
	}
	return whole, crc32.ChecksumIEEE(whole), nil
}

// isAt checks that a place is one in this value.
func (c *call) isAt(at spot, size int, sum uint32) error {
	if at.bytes == 0 || sum == at.sum && at.bytes <= size {
		return nil
	}
	return &engine.Error{Code: engine.Conflict, Message: fmt.Sprintf("the %s of run %q has changed since its first piece was read: read it again",
		c.r.PathValue("value"), c.r.PathValue("run"))}
}
