// Package seal encrypts what authors' code and callers hand to the engine, at the border of whatever stores it: inputs, results,
// signals, state, details and words of failures. Tables, buckets, queues and files then hold no value of theirs in the clear.
// What happened stays readable: kinds, times, names, numbers, and the attributes that runs are searched by.
//
// Each value is sealed by itself, and for its run: [Cipher] says how. Stores take any [Codec]; without one they store values
// as they are, at no cost, and refuse sealed ones as [history.ErrUnreadable].
package seal

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/reprise-run/reprise/core/history"
)

// Codec seals values and opens them again. It is the hook for a scheme of one's own; [Cipher] is the one that comes along.
// It is safe for concurrent use.
//
// An error of either wraps engine.ErrUnavailable where another attempt may do better, as when a key service does not answer.
// Any other error of Open wraps [history.ErrUnreadable]: the run is blocked with its message, which must say what to do.
type Codec interface {
	// Seal encrypts a value of a run. The same value of the same run should give the same bytes as long as the key is the same:
	// what is kept by its content is kept once then, and writing again changes nothing. The caller must not change the result.
	Seal(ctx context.Context, run string, plain []byte) ([]byte, error)
	// Open decrypts it. It must refuse what was not sealed for this run.
	Open(ctx context.Context, run string, sealed []byte) ([]byte, error)
}

// Weighing counts the bytes of what a codec opens: a short record may hold megabytes of values, since they are compressed.
type Weighing struct {
	Codec
	opened atomic.Int64
}

// Open implements [Codec].
func (w *Weighing) Open(ctx context.Context, run string, sealed []byte) ([]byte, error) {
	plain, err := w.Codec.Open(ctx, run, sealed)
	w.opened.Add(int64(len(plain)))
	return plain, err
}

// Opened is how many bytes were opened.
func (w *Weighing) Opened() int { return int(w.opened.Load()) }

// mark begins the text of a sealed value. No place of a payload begins with it.
const mark = "!"

// Text is how a sealed value is written where JSON is: as what stands for a payload (see [history.Encoder]).
func Text(sealed []byte) string { return mark + base64.RawStdEncoding.EncodeToString(sealed) }

// Parse gives the sealed value of such a text. Not sealed: the text is something else, the place of a payload.
func Parse(text string) (value []byte, sealed bool, err error) {
	encoded, sealed := strings.CutPrefix(text, mark)
	if !sealed {
		return nil, false, nil
	}
	if value, err = base64.RawStdEncoding.DecodeString(encoded); err != nil {
		return nil, true, fmt.Errorf("%w: a sealed payload is damaged: %w", history.ErrUnreadable, err)
	}
	return value, true, nil
}

// Encode has something of a run encoded with its values sealed. A nil codec leaves them as they are.
func Encode(ctx context.Context, codec Codec, run string, encode func(history.Encoder) ([]byte, error)) ([]byte, error) {
	if codec == nil {
		return encode(history.Encoder{})
	}
	var failed error
	text, err := encode(history.Encoder{Texts: true, Away: func(payload history.Payload) (string, bool) {
		if failed != nil {
			return "", true
		}
		var sealed []byte
		sealed, failed = codec.Seal(ctx, run, payload)
		return Text(sealed), true
	}})
	if failed != nil {
		return nil, fmt.Errorf("a payload of run %q was not sealed: %w", run, failed)
	}
	return text, err
}

// Decode has it decoded again.
func Decode[T any](ctx context.Context, codec Codec, run string, decoder *history.Decoder, decode func(*history.Decoder) (T, error)) (T, error) {
	if codec == nil {
		decoder.Fetch = unopened
		return decode(decoder)
	}
	var failed error
	decoder.Fetch = func(text string) (history.Payload, error) {
		if failed != nil {
			return nil, nil //nolint:nilerr // the first error is the one that is given
		}
		var payload history.Payload
		payload, failed = open(ctx, codec, run, text)
		return payload, nil
	}
	value, err := decode(decoder)
	if failed != nil {
		return value, failed
	}
	return value, err
}

func open(ctx context.Context, codec Codec, run, text string) (history.Payload, error) {
	sealed, ok, err := Parse(text)
	if err == nil && !ok {
		err = fmt.Errorf("%w: it is kept elsewhere, at %q, and nothing here can fetch it", history.ErrUnreadable, text)
	}
	var payload history.Payload
	if err == nil {
		payload, err = codec.Open(ctx, run, sealed)
	}
	if err != nil {
		return nil, fmt.Errorf("a payload of run %q: %w", run, err)
	}
	return payload, nil
}

// ErrNoKey is what errors.Is says of a sealed value where no codec is. It is a case of [history.ErrUnreadable].
var ErrNoKey = fmt.Errorf("%w: it is sealed, and this program was given no key: start it with the key that it was sealed with", history.ErrUnreadable)

// unopened is who fetches where no codec is.
func unopened(text string) (history.Payload, error) {
	if strings.HasPrefix(text, mark) {
		return nil, ErrNoKey
	}
	return nil, errors.New("nothing here can fetch it")
}
