package offload

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/reprise-run/reprise/core/history"
)

// First bytes of what is not JSON text as it is.
const (
	deflated = 0x01
	away     = '@' // the rest is the place of the whole
)

// longestInflated is how long a text is at most that is deflated, and that deflated bytes are read as: a few hundred kilobytes
// could become as many megabytes. What is longer is kept elsewhere as it is.
const longestInflated = 64 << 20

const (
	unit     = 1024 // bytes that DynamoDB writes for one unit
	overhead = 128  // bytes of an item beside its body: keys, names of attributes
)

// Pack makes a text of a run's shorter where that saves a write unit, and keeps it elsewhere where even so it has more than
// limit bytes. Text is JSON. The first byte tells what it has become.
func (c Codec) Pack(ctx context.Context, run string, text []byte, limit int) ([]byte, error) {
	packed := text
	if len(text) > unit-overhead && len(text) <= longestInflated {
		if short := deflate(text); units(short) < units(text) {
			packed = short
		}
	}
	if len(packed) <= limit {
		return packed, nil
	}
	place, err := c.Places.Keep(ctx, run, text)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of run %q were not kept: %w", len(text), run, err)
	}
	return append([]byte{away}, place...), nil
}

func units(body []byte) int { return (len(body) + overhead + unit - 1) / unit }

// writers are reused: each holds a megabyte of tables.
var writers = sync.Pool{New: func() any {
	writer, err := flate.NewWriter(nil, flate.DefaultCompression)
	if err != nil {
		panic("this level is allowed: " + err.Error())
	}
	return writer
}}

func deflate(text []byte) []byte {
	short := bytes.NewBuffer([]byte{deflated})
	writer := writers.Get().(*flate.Writer)
	defer writers.Put(writer)
	writer.Reset(short)
	_, _ = writer.Write(text) // a buffer takes all
	_ = writer.Close()
	return short.Bytes()
}

// Unpack gives the text that was packed.
func (c Codec) Unpack(ctx context.Context, packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, fmt.Errorf("%w: it is empty", history.ErrUnreadable)
	}
	switch packed[0] {
	case deflated:
		text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed[1:])), longestInflated+1))
		if err != nil {
			return nil, fmt.Errorf("%w: it does not inflate: %w", history.ErrUnreadable, err)
		}
		if len(text) > longestInflated {
			return nil, fmt.Errorf("%w: its %d bytes inflate to more than %d", history.ErrUnreadable, len(packed), longestInflated)
		}
		return text, nil
	case away:
		text, err := c.Places.Fetch(ctx, string(packed[1:]))
		if err != nil {
			return nil, unreadable(fmt.Errorf("what is kept at %q was not fetched: %w", packed[1:], err))
		}
		return text, nil
	}
	return packed, nil
}
