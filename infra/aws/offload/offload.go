// Package offload is the stored form of what goes into DynamoDB and through SQS: the JSON of core/history, with long payloads
// kept elsewhere (in S3), and the whole deflated, or kept elsewhere, where that is better.
//
// It knows no AWS service: where "elsewhere" is, a [Places] says.
package offload

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/aws"
)

// Longest is how many bytes of payload stay where they are used (32 KB). Longer ones are kept elsewhere: a message holds
// 256 KB at most, an item 400 KB, and each KB of an item is a write unit whenever it is written again.
const Longest = 32 << 10

// Places keep what is too long to be stored where it is used.
type Places interface {
	// Keep keeps data for a run, and gives its place. The same data of the same run has one place, and is sent there once.
	// An error wraps [engine.ErrUnavailable] where another attempt may do better.
	Keep(ctx context.Context, run string, data []byte) (place string, err error)
	// Renew keeps data again that Keep has kept, whatever is remembered of it: all of a run may have been forgotten meanwhile,
	// and the run begun anew under the same id.
	Renew(ctx context.Context, run string, data []byte) error
	// Fetch gives what is kept at a place. The caller must not change it. An error wraps [engine.ErrUnavailable] where another
	// attempt may do better.
	Fetch(ctx context.Context, place string) ([]byte, error)
	// Forget deletes all that is kept for a run.
	Forget(ctx context.Context, run string) error
}

// Codec encodes and decodes. It is safe for concurrent use. An error in encoding is that of [Places]; one in decoding wraps
// [engine.ErrUnavailable] if the places did not answer, else [history.ErrUnreadable].
type Codec struct{ Places Places }

// EncodeRecord gives the stored form of a run's record.
func (c Codec) EncodeRecord(ctx context.Context, run string, rec *history.Record) ([]byte, error) {
	return c.encode(ctx, run, func(e history.Encoder) []byte { return e.Record(rec) })
}

// DecodeRecord reads it back.
func (c Codec) DecodeRecord(ctx context.Context, text []byte) (*history.Record, error) {
	return decode(ctx, c, text, (*history.Decoder).Record)
}

// EncodeEvent gives the stored form of an event of a run's.
func (c Codec) EncodeEvent(ctx context.Context, run string, event history.Event) ([]byte, error) {
	return c.encode(ctx, run, func(e history.Encoder) []byte { return e.Event(event) })
}

// DecodeEvent reads it back.
func (c Codec) DecodeEvent(ctx context.Context, text []byte) (history.Event, error) {
	return decode(ctx, c, text, (*history.Decoder).Event)
}

// EncodeCommand gives the stored form of a command of a run's.
func (c Codec) EncodeCommand(ctx context.Context, run string, command history.Command) ([]byte, error) {
	return c.encode(ctx, run, func(e history.Encoder) []byte { return e.Command(command) })
}

// DecodeCommand reads it back.
func (c Codec) DecodeCommand(ctx context.Context, text []byte) (history.Command, error) {
	return decode(ctx, c, text, (*history.Decoder).Command)
}

// encode encodes once where all payloads are short, and a second time once the places of the long ones are known.
func (c Codec) encode(ctx context.Context, run string, encode func(history.Encoder) []byte) ([]byte, error) {
	var long []history.Payload
	text := encode(history.Encoder{Away: func(payload history.Payload) (string, bool) {
		if len(payload) <= Longest {
			return "", false
		}
		long = append(long, payload)
		return "", true
	}})
	if len(long) == 0 {
		return text, nil
	}
	places := make([]string, len(long))
	err := aws.Each(ctx, len(long), func(ctx context.Context, i int) (err error) {
		places[i], err = c.Places.Keep(ctx, run, long[i])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("a payload of run %q was not kept: %w", run, err)
	}
	next := 0
	return encode(history.Encoder{Away: func(payload history.Payload) (string, bool) {
		if len(payload) <= Longest {
			return "", false
		}
		next++
		return places[next-1], true
	}}), nil
}

// decode decodes once where all payloads are here, and a second time once those elsewhere are fetched.
func decode[T any](ctx context.Context, c Codec, text []byte, read func(*history.Decoder, []byte) (T, error)) (T, error) {
	var places []string
	value, err := read(&history.Decoder{Fetch: func(place string) (history.Payload, error) {
		places = append(places, place)
		return nil, nil
	}}, text)
	if err != nil || len(places) == 0 {
		return value, err
	}
	payloads := make([]history.Payload, len(places))
	err = aws.Each(ctx, len(places), func(ctx context.Context, i int) (err error) {
		payloads[i], err = c.Places.Fetch(ctx, places[i])
		return err
	})
	if err != nil {
		return value, unreadable(fmt.Errorf("a payload was not fetched: %w", err))
	}
	next := 0
	return read(&history.Decoder{Fetch: func(string) (history.Payload, error) {
		next++
		return payloads[next-1], nil
	}}, text)
}

// unreadable sorts an error in fetching: if another attempt would not help, it is what is stored that cannot be read.
func unreadable(err error) error {
	if errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, history.ErrUnreadable) {
		return err
	}
	return fmt.Errorf("%w: %w", history.ErrUnreadable, err)
}
