package offload

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

// summary is the stored form of a summary: the payloads that are kept elsewhere are left out, and their places are named.
type summary struct {
	engine.Summary
	Away map[string]string `json:"away,omitempty"` // place by field
}

// payloads are the fields that may be kept elsewhere. Attributes stay: they are searched by. So does a failure, whose details
// are rarely long: [Codec.Pack] sees to the whole.
func payloads(s *engine.Summary) map[string]*history.Payload {
	return map[string]*history.Payload{"input": &s.Input, "result": &s.Result, "state": &s.State}
}

// EncodeSummary gives the stored form of a summary.
func (c Codec) EncodeSummary(ctx context.Context, s *engine.Summary) ([]byte, error) {
	stored := summary{Summary: *s}
	for name, payload := range payloads(&stored.Summary) {
		if len(*payload) <= Longest {
			continue
		}
		place, err := c.Places.Keep(ctx, s.Run, *payload)
		if err != nil {
			return nil, fmt.Errorf("the %s of run %q was not kept: %w", name, s.Run, err)
		}
		if stored.Away == nil {
			stored.Away = map[string]string{}
		}
		stored.Away[name], *payload = place, nil
	}
	text, err := history.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("the summary of run %q cannot be stored: %w", s.Run, err)
	}
	return text, nil
}

// DecodeSummary reads it back.
func (c Codec) DecodeSummary(ctx context.Context, text []byte) (*engine.Summary, error) {
	stored := summary{}
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, fmt.Errorf("%w: a summary: %w", history.ErrUnreadable, err)
	}
	for name, payload := range payloads(&stored.Summary) {
		place, away := stored.Away[name]
		if !away {
			continue
		}
		fetched, err := c.Places.Fetch(ctx, place)
		if err != nil {
			return nil, unreadable(fmt.Errorf("the %s of run %q was not fetched: %w", name, stored.Run, err))
		}
		*payload = fetched
	}
	return &stored.Summary, nil
}
