package api

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// long is a text that may be longer than an answer, or than what a server wants to hold in memory.
type long struct {
	what string // for messages; it tells the text from all others
	size int64  // about how many bytes are read for it
	read func() ([]byte, error)
}

// giveLong gives a long text: the piece after a place where answers are limited, else the rest.
func (c *call) giveLong(l *long) error {
	at, err := parseSpot(c.value("after"))
	switch {
	case err != nil:
		return err
	case c.config.LongestAnswer > 0 || l.size <= freeBytes:
		return c.givePiece(at, l)
	}
	return c.stream(at, l)
}

// givePiece gives a text, or a piece of it, from memory.
func (c *call) givePiece(at spot, l *long) error {
	text, sum, err := c.readLong(l, c.config.Limits.RoomWithin)
	if err == nil {
		err = l.has(at, len(text), sum)
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
		c.w.Header().Set(wire.NextHeader, spot{sum, to}.String())
	}
	writeText(c.w, http.StatusOK, "application/json", text[at.bytes:to])
	return nil
}

// stream gives a text part by part. However slowly the caller takes it, it holds no more than one
// part in memory.
func (c *call) stream(at spot, l *long) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), patienceForValues*c.config.Limits.RoomWithin)
	defer cancel()
	text, leave, err := c.copies.take(ctx, l.what, func() ([]byte, uint32, error) {
		end, _ := ctx.Deadline()
		return c.readLong(l, time.Until(end))
	})
	c.release()
	if errors.Is(err, context.DeadlineExceeded) {
		err = c.crowded(copiesOfValue * l.size)
	}
	if err != nil {
		return err
	}
	defer leave()
	if err := l.has(at, text.size, text.sum); err != nil {
		return err
	}
	c.w.Header().Set("Content-Length", strconv.Itoa(text.size-at.bytes))
	writeHead(c.w, http.StatusOK, "application/json", pieceOfLog)
	var buffer []byte
	for from, paced := at.bytes, at.bytes; from < text.size; {
		if buffer, err = text.part(from/scratchPart, buffer); err != nil {
			// the answer has begun: only its missing end can say that it failed
			panic(http.ErrAbortHandler)
		}
		if from-paced >= pieceOfLog { // the time for the next piece begins
			hurryReader(c.w, pieceOfLog)
			paced = from
		}
		n, err := c.w.Write(buffer[from%scratchPart:])
		if err != nil {
			return nil // the caller has gone
		}
		from += n
	}
	return nil
}

// readLong reads a text whole, into memory that the call claims. It waits so long for that.
func (c *call) readLong(l *long, within time.Duration) (text []byte, sum uint32, err error) {
	if l.size > freeBytes {
		if err := c.awaitRoomToRead(copiesOfValue*l.size, within); err != nil {
			return nil, 0, err
		}
	}
	if text, err = l.read(); err != nil {
		return nil, 0, err
	}
	if text == nil {
		text = []byte("null")
	}
	return text, crc32.ChecksumIEEE(text), nil
}

// has checks that a place is one in this text.
func (l *long) has(at spot, size int, sum uint32) error {
	if at == (spot{}) || sum == at.sum && at.bytes <= size {
		return nil
	}
	return &port.Error{Code: port.Conflict, Message: l.what +
		" has changed since its first piece was read: read it again"}
}

// leavesOut says whether a value is too long for an answer here. If so, the answer names the place
// where its first piece begins: the same request with that as after gives it.
func (c *call) leavesOut(value []byte) bool {
	const beside = 256 << 10 // for what else the answer says
	if most := c.config.LongestAnswer; most == 0 || len(value) <= max(most-beside, most/2) {
		return false
	}
	c.w.Header().Set(wire.NextHeader, spot{crc32.ChecksumIEEE(value), 0}.String())
	return true
}

// isRead says whether the caller reads on in a value that an answer left out.
func (c *call) isRead() bool { return c.value("after") != "" }

// giveRest gives the next piece of a value that is in memory.
func (c *call) giveRest(what string, value []byte) error {
	return c.giveLong(&long{what: what, read: func() ([]byte, error) { return value, nil }})
}

// afterParam is the place in a text.
func afterParam(of string) string {
	return fmt.Sprintf("The next piece of %s after this place: %s of the answer before.", of,
		wire.NextHeader)
}
