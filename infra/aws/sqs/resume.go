package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/reprise-run/reprise/core/port"
)

// resumeBody is the form of a resume.
type resumeBody struct {
	Version  int             `json:"v"`
	Run      string          `json:"run"`
	Unblocks string          `json:"unblocks"`
	Unblock  bool            `json:"unblock"` // in bodies of versions whose marks had no ids
	Carries  *itemBody       `json:"carries"`
	Creates  json.RawMessage `json:"creates"` // as offload.Codec stores summaries
}

type itemBody struct {
	Key     string          `json:"key"`
	Stamp   int64           `json:"stamp"`
	Durable bool            `json:"durable"`
	Event   json.RawMessage `json:"event"` // as offload.Codec stores events
}

func (q *Queue) encodeResume(ctx context.Context, m port.Resume) (string, error) {
	body := begin(m.Run)
	if m.Unblocks != "" {
		body.member("unblocks", quote(m.Unblocks))
	}
	if m.Carries != nil {
		event, err := q.codec.EncodeEvent(ctx, m.Run, m.Carries.Event)
		if err != nil {
			return "", err
		}
		item := object(append([]byte(`{"key":`), quote(m.Carries.Key)...))
		item.number("stamp", m.Carries.Stamp)
		item.flag("durable", m.Carries.Durable)
		item.member("event", event)
		body.member("carries", item.end())
	}
	if m.Creates != nil {
		summary, err := q.codec.EncodeSummary(ctx, m.Creates)
		if err != nil {
			return "", err
		}
		body.member("creates", summary)
	}
	return q.seal(ctx, m.Run, body)
}

// DecodeResume reads a message that was received from the queue of resumes. An error wraps history.ErrUnreadable if no
// attempt will ever read it, engine.ErrUnavailable if a long payload did not come.
func (q *Queue) DecodeResume(ctx context.Context, body string) (port.Resume, error) {
	var read resumeBody
	if err := q.open(ctx, "resume", body, &read); err != nil {
		return port.Resume{}, err
	}
	if read.Run == "" {
		return port.Resume{}, unreadable("resume", body, errors.New("it names no run"))
	}
	m := port.Resume{Run: read.Run, Unblocks: read.Unblocks}
	if c := read.Carries; c != nil {
		event, err := q.codec.DecodeEvent(ctx, read.Run, c.Event)
		if err != nil {
			return port.Resume{}, fmt.Errorf("the event that a resume of run %q carries: %w",
				read.Run, err)
		}
		if c.Key == "" {
			return port.Resume{},
				unreadable("resume", body, errors.New("what it carries has no key"))
		}
		m.Carries = &port.Item{Key: c.Key, Event: event, Stamp: c.Stamp, Durable: c.Durable}
	}
	if read.Creates != nil {
		summary, err := q.codec.DecodeSummary(ctx, read.Run, read.Creates)
		if err != nil {
			return port.Resume{}, fmt.Errorf("the summary that goes with a start of run %q: %w",
				read.Run, err)
		}
		if summary.Run != read.Run || m.Carries == nil {
			return port.Resume{},
				unreadable("resume", body,
					errors.New("it creates run "+strconv.Quote(summary.Run)+", and does not carry its start"))
		}
		m.Creates = summary
	}
	return m, nil
}
