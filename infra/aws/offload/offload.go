// Package offload is the stored form of what goes into DynamoDB and through SQS: the JSON of core/history, with payloads sealed
// where there is a key, long ones kept elsewhere (in S3), and the whole deflated, or kept elsewhere, where that is better.
//
// It knows no AWS service: where "elsewhere" is, a [Places] says.
package offload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/aws"
)

// Longest is how many bytes of payload stay where they are used (32 KB). Longer ones are kept elsewhere: a message holds
// 256 KB at most, an item 400 KB, and each KB of an item is a write unit whenever it is written again.
const Longest = 32 << 10

// Places keep what is too long to be stored where it is used.
type Places interface {
	// Keep keeps data for a run, and gives its place. The same data of the same run has one place,
	// and is sent there once. An error wraps [port.ErrUnavailable] where another attempt may do
	// better.
	Keep(ctx context.Context, run string, data []byte) (place string, err error)
	// Renew keeps data again that Keep has kept, whatever is remembered of it: all of a run may have been forgotten meanwhile,
	// and the run begun anew under the same id.
	Renew(ctx context.Context, run string, data []byte) error
	// Fetch gives what is kept at a place. The caller must not change it. An error wraps
	// [port.ErrUnavailable] where another attempt may do better.
	Fetch(ctx context.Context, place string) ([]byte, error)
	// Forget deletes all that is kept for a run.
	Forget(ctx context.Context, run string) error
}

// Codec encodes and decodes. It is safe for concurrent use. An error in encoding is that of
// [Places] or of the seal; one in decoding wraps [port.ErrUnavailable] if those did not answer,
// else [history.ErrUnreadable].
type Codec struct {
	Places Places
	// Seal seals every value, before it is kept anywhere. Nil: none is sealed.
	Seal seal.Codec
}

// EncodeRecord gives the stored form of a run's record.
func (c Codec) EncodeRecord(ctx context.Context, run string, rec *history.Record) ([]byte, error) {
	return c.encode(ctx, run, func(e history.Encoder) ([]byte, error) { return e.Record(rec), nil })
}

// DecodeRecord reads it back.
func (c Codec) DecodeRecord(ctx context.Context, run string, text []byte) (*history.Record, error) {
	return decode(ctx, c, run, text, (*history.Decoder).Record)
}

// DecodeRecordWithCheckpoint reads it back with its checkpoint.
func (c Codec) DecodeRecordWithCheckpoint(
	ctx context.Context, run string, text []byte,
) (*history.Record, error) {
	return decode(ctx, c, run, text, (*history.Decoder).RecordWithCheckpoint)
}

// EncodeEvent gives the stored form of an event of a run's.
func (c Codec) EncodeEvent(ctx context.Context, run string, event history.Event) ([]byte, error) {
	return c.encode(ctx, run, func(e history.Encoder) ([]byte, error) { return e.Event(event), nil })
}

// DecodeEvent reads it back.
func (c Codec) DecodeEvent(ctx context.Context, run string, text []byte) (history.Event, error) {
	return decode(ctx, c, run, text, (*history.Decoder).Event)
}

// EncodeCommand gives the stored form of a command of a run's.
func (c Codec) EncodeCommand(ctx context.Context, run string, command history.Command) ([]byte, error) {
	return c.encode(ctx, run, func(e history.Encoder) ([]byte, error) { return e.Command(command), nil })
}

// DecodeCommand reads it back.
func (c Codec) DecodeCommand(ctx context.Context, run string, text []byte) (history.Command, error) {
	return decode(ctx, c, run, text, (*history.Decoder).Command)
}

// EncodeSummary gives the stored form of a summary.
func (c Codec) EncodeSummary(ctx context.Context, s *port.Summary) ([]byte, error) {
	return c.encode(ctx, s.Run, func(e history.Encoder) ([]byte, error) {
		return port.EncodeSummary(e, s)
	})
}

// DecodeSummary reads it back.
func (c Codec) DecodeSummary(ctx context.Context, run string, text []byte) (*port.Summary, error) {
	return decode(ctx, c, run, text, port.DecodeSummary)
}

// DecodeListed reads it back as a list needs it: values that are kept elsewhere are not fetched
// (see [port.Summary.Large]).
func (c Codec) DecodeListed(ctx context.Context, run string, text []byte) (*port.Summary, error) {
	return port.DecodeSummary(&history.Decoder{Fetch: func(form string) (history.Payload, error) {
		sealed, here, err := seal.Parse(form)
		if !here || strings.HasPrefix(form, sealedAt) {
			return nil, port.ErrLeftOut
		}
		payload, err := c.open(ctx, run, sealed, err)
		if err != nil {
			err = unreadable(fmt.Errorf("a payload of run %q was not read: %w", run, err))
		}
		return payload, err
	}}, text)
}

// EncodeBlock gives the stored form of a run's block.
func (c Codec) EncodeBlock(ctx context.Context, run string, block *port.Block) ([]byte, error) {
	return c.encode(ctx, run, func(e history.Encoder) ([]byte, error) {
		return port.EncodeBlock(e, block)
	})
}

// DecodeBlock reads it back.
func (c Codec) DecodeBlock(ctx context.Context, run string, text []byte) (*port.Block, error) {
	return decode(ctx, c, run, text, port.DecodeBlock)
}

// EncodeTask gives the stored form of what is known of an activity under way.
func (c Codec) EncodeTask(ctx context.Context, state *port.TaskState) ([]byte, error) {
	return c.encode(ctx, state.Run, func(e history.Encoder) ([]byte, error) {
		return port.EncodeTask(e, state)
	})
}

// DecodeTask reads it back.
func (c Codec) DecodeTask(ctx context.Context, run string, text []byte) (*port.TaskState, error) {
	return decode(ctx, c, run, text, port.DecodeTask)
}

// EncodeDefinition gives the stored form of a published definition.
func (c Codec) EncodeDefinition(ctx context.Context, definition *port.Definition) ([]byte, error) {
	return c.encode(ctx, definition.Key(), func(e history.Encoder) ([]byte, error) {
		return port.EncodeDefinition(e, definition)
	})
}

// DecodeDefinition reads it back.
func (c Codec) DecodeDefinition(
	ctx context.Context, name string, text []byte,
) (*port.Definition, error) {
	return decode(ctx, c, (&port.Definition{Name: name}).Key(), text, port.DecodeDefinition)
}

// stays says that a payload is stored as it is.
func (c Codec) stays(payload history.Payload) bool { return c.Seal == nil && len(payload) <= Longest }

// encode encodes once where all payloads stay, and a second time once it is known what stands for those that do not.
func (c Codec) encode(ctx context.Context, run string, encode func(history.Encoder) ([]byte, error)) ([]byte, error) {
	var gone []history.Payload
	text, err := encode(history.Encoder{Texts: c.Seal != nil, Away: func(payload history.Payload) (string, bool) {
		if c.stays(payload) {
			return "", false
		}
		gone = append(gone, payload)
		return "", true
	}})
	if len(gone) == 0 || err != nil {
		return text, err
	}
	forms := make([]string, len(gone))
	err = aws.Each(ctx, len(gone), func(ctx context.Context, i int) (err error) {
		forms[i], err = c.put(ctx, run, gone[i])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("a payload of run %q was not kept: %w", run, err)
	}
	next := 0
	return encode(history.Encoder{Texts: c.Seal != nil, Away: func(payload history.Payload) (string, bool) {
		if c.stays(payload) {
			return "", false
		}
		next++
		return forms[next-1], true
	}})
}

// sealedAt begins what stands for a payload that is sealed and kept elsewhere; its place follows.
const sealedAt = "!@"

// put gives what stands for a payload: its sealed form, its place, or the place of its sealed form.
func (c Codec) put(ctx context.Context, run string, payload history.Payload) (string, error) {
	if c.Seal == nil {
		return c.Places.Keep(ctx, run, payload)
	}
	sealed, err := c.Seal.Seal(ctx, run, payload)
	if err != nil {
		return "", fmt.Errorf("it was not sealed: %w", err)
	}
	if len(sealed) <= Longest {
		return seal.Text(sealed), nil
	}
	place, err := c.Places.Keep(ctx, run, sealed)
	return sealedAt + place, err
}

// get gives the payload that something stands for.
func (c Codec) get(ctx context.Context, run, form string) (history.Payload, error) {
	if place, elsewhere := strings.CutPrefix(form, sealedAt); elsewhere {
		sealed, err := c.Places.Fetch(ctx, place)
		return c.open(ctx, run, sealed, err)
	}
	if sealed, here, err := seal.Parse(form); here {
		return c.open(ctx, run, sealed, err)
	}
	return c.Places.Fetch(ctx, form)
}

func (c Codec) open(ctx context.Context, run string, sealed []byte, err error) (history.Payload, error) {
	switch {
	case err != nil:
		return nil, err
	case c.Seal == nil:
		return nil, seal.ErrNoKey
	}
	return c.Seal.Open(ctx, run, sealed)
}

// decode decodes once where all payloads are here, and a second time once the others are opened and fetched.
func decode[T any](ctx context.Context, c Codec, run string, text []byte, read func(*history.Decoder, []byte) (T, error)) (T, error) {
	var forms []string
	value, err := read(&history.Decoder{Fetch: func(form string) (history.Payload, error) {
		forms = append(forms, form)
		return nil, nil
	}}, text)
	if err != nil || len(forms) == 0 {
		return value, err
	}
	payloads := make([]history.Payload, len(forms))
	err = aws.Each(ctx, len(forms), func(ctx context.Context, i int) (err error) {
		payloads[i], err = c.get(ctx, run, forms[i])
		return err
	})
	if err != nil {
		return value, unreadable(fmt.Errorf("a payload of run %q was not read: %w", run, err))
	}
	next := 0
	return read(&history.Decoder{Fetch: func(string) (history.Payload, error) {
		next++
		return payloads[next-1], nil
	}}, text)
}

// unreadable sorts an error in fetching: if another attempt would not help, it is what is stored that cannot be read.
func unreadable(err error) error {
	if errors.Is(err, port.ErrUnavailable) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, history.ErrUnreadable) {
		return err
	}
	return fmt.Errorf("%w: %w", history.ErrUnreadable, err)
}
