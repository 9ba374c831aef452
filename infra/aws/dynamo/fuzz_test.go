package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
)

// FuzzRow reads what may lie in the table: a body, as text or packed, of each sort of row. It is read or unreadable; what was
// read is written again, and reads back the same.
func FuzzRow(f *testing.F) {
	signal, schedule := history.NewSignal("m", "note", history.Payload(`[1]`)), &history.ScheduleActivity{Activity: "a", Input: history.Payload("2")}
	record := &history.Record{Number: 1, Events: []history.Event{signal}, Commands: []history.Command{schedule}}
	f.Add(history.AppendRecord(nil, record), false, "")
	f.Add(history.EncodeEvent(signal), false, "")
	f.Add([]byte(`{"run":"r","workflow":"w","generation":1,"status":"running","started":"2026-01-01T00:00:00Z","input":{"a":1}}`), false, `{"since":"2026-01-01T00:00:00Z","reason":"x","message":"m"}`)
	f.Add([]byte(`{"run":"r","generation":1,"seq":2,"activity":"a","attempt":3,"beat":"2026-01-01T00:00:00Z","details":[1]}`), true, "")
	s := New(Config{Codec: offload.Codec{Places: offloadtest.New()}})
	f.Fuzz(func(t *testing.T, body []byte, packed bool, blocked string) {
		ctx := t.Context()
		r := keyOf(partition("r"), logKey(1, 1))
		r["body"] = text(string(body))
		if packed {
			r["body"] = &types.AttributeValueMemberB{Value: body}
		}
		r["stamp"], r["blocked"], r["generation"] = &types.AttributeValueMemberN{Value: blocked}, text(blocked), number(1)

		rec, _, err := s.readRecord(ctx, r, offload.Codec.DecodeRecord)
		if readable(t, err) {
			again, err := s.codec.EncodeRecord(ctx, "r", rec)
			require.NoError(t, err)
			require.Equal(t, string(history.AppendRecord(nil, rec)), string(again))
		}
		item, err := s.readItem(ctx, r)
		if readable(t, err) {
			written, err := s.itemRow(ctx, "r", item)
			require.NoError(t, err)
			back, err := s.readItem(ctx, written)
			require.NoError(t, err)
			require.Equal(t, string(history.EncodeEvent(item.Event)), string(history.EncodeEvent(back.Event)))
			require.Equal(t, item.Stamp, back.Stamp)
		}
		summary, err := s.readSummary(ctx, r)
		if readable(t, err) {
			once, err := s.codec.EncodeSummary(ctx, summary)
			if err != nil {
				return // a time beyond the year 9999, which JSON has no word for
			}
			back, err := s.codec.DecodeSummary(ctx, summary.Run, once)
			require.NoError(t, err)
			twice, err := s.codec.EncodeSummary(ctx, back)
			require.NoError(t, err)
			require.Equal(t, string(once), string(twice))
		}
		_, err = s.readTask(ctx, r)
		readable(t, err)
	})
}

// readable says so of what was read without an error, and fails a test whose error does not say that it is not.
func readable(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		require.ErrorIs(t, err, history.ErrUnreadable)
	}
	return err == nil
}

// FuzzKey reads keys of the table and cursors of listings: what is read is written the same.
func FuzzKey(f *testing.F) {
	f.Add(logKey(1, 2))
	f.Add("2026-01-01T00:00:00.000000000Z#r#1#2")
	f.Add("2026-01-01T00:00:00Z#3")
	f.Add(cursorOf("2026-01-01T00:00:00.000000000Z#r"))
	f.Add(scanned{"run#r", "run", "q"}.String())
	f.Fuzz(func(t *testing.T, key string) {
		if generation, number, err := placeOf(key); readable(t, err) {
			require.Equal(t, key, logKey(generation, number))
		}
		if timer, err := timerOf(key); readable(t, err) {
			again, err := timerOf(dueKey(timer))
			require.NoError(t, err)
			require.Equal(t, timer, again)
		}
		_, err := beginOf(key)
		readable(t, err)
		if at, err := parseCursor(key); err == nil {
			require.Equal(t, key, cursorOf(at))
			require.LessOrEqual(t, len(at), longestKey)
		} else {
			require.Equal(t, port.Invalid, port.CodeOf(err))
		}
		if at, err := parseScanned(key); err == nil {
			require.LessOrEqual(t, max(len(at.PK), len(at.SK)), longestKey)
		} else {
			require.Equal(t, port.Invalid, port.CodeOf(err))
		}
	})
}
