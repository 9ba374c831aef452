package history_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// kept are payloads that are kept elsewhere, by place.
type kept map[string]history.Payload

// away sends away every payload longer than so many bytes.
func (k kept) away(longest int) history.Encoder {
	return history.Encoder{Away: func(payload history.Payload) (string, bool) {
		if len(payload) <= longest {
			return "", false
		}
		place := fmt.Sprintf("place %d", len(k))
		k[place] = payload
		return place, true
	}}
}

func (k kept) fetch(place string) (history.Payload, error) {
	if payload, there := k[place]; there {
		return payload, nil
	}
	return nil, errGone
}

var errGone = errors.New("gone")

func TestPayloadsElsewhere(t *testing.T) {
	for _, rec := range []*history.Record{record(), {Number: 1}} {
		for _, longest := range []int{0, 8, 1 << 20} {
			k := kept{}
			text := k.away(longest).Record(rec)
			decoder := history.Decoder{Fetch: k.fetch}
			got, err := decoder.Record(text)
			require.NoError(t, err, string(text))
			require.Equal(t, string(history.AppendRecord(nil, rec)), string(history.AppendRecord(nil, got)), string(text))
			_, err = history.DecodeRecord(text)
			if len(k) == 0 {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, history.ErrUnreadable)
			require.ErrorContains(t, err, "kept elsewhere")
			_, err = (&history.Decoder{Fetch: kept{}.fetch}).Record(text)
			require.ErrorIs(t, err, errGone)
		}
	}
}

// TestAuthorsKeysAreTheirs: what looks like our mark in an author's value is not one.
func TestAuthorsKeysAreTheirs(t *testing.T) {
	input := history.Payload(`{"input@":"place 7","x@":{"y@":[1]}}`)
	started := &history.Started{Generation: 1, Workflow: "w", Input: input, Attributes: history.Attributes{"a@": history.Payload(`"b"`), "c": history.Payload(`1`)}}
	got, err := history.DecodeEvent(history.EncodeEvent(started))
	require.NoError(t, err)
	require.Equal(t, started, got)
	k := kept{}
	text := k.away(0).Event(started)
	require.Len(t, k, 1, "attributes stay: %s", text)
	got, err = (&history.Decoder{Fetch: k.fetch}).Event(text)
	require.NoError(t, err)
	require.Equal(t, started, got)
}
