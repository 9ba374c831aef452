package history_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// typical is the record of one activity of many: the answer of the one before, and the next one.
func typical() *history.Record {
	return &history.Record{Number: 41, Time: at, Author: "node/7", Until: at.Add(time.Minute),
		Events:   []history.Event{filed("f-1234567", &history.ActivityResolved{Seq: 39, Result: history.Payload(`{"id":"ch_123","amount":4200}`), Started: at, Worker: "w-1"})},
		Commands: []history.Command{numbered(40, &history.ScheduleActivity{Activity: "ship", Input: history.Payload(`{"order":"o-77","items":["a","b"]}`)})},
	}
}

// plain is the same record for encoding/json, with a type for each member: the best that it can do.
type plain struct {
	V      int       `json:"v"`
	N      int       `json:"n"`
	Time   time.Time `json:"time"`
	Author string    `json:"author"`
	Until  time.Time `json:"until"`
	Events []struct {
		Kind    string          `json:"kind"`
		Filing  string          `json:"filing"`
		Seq     int64           `json:"seq"`
		Result  json.RawMessage `json:"result"`
		Started time.Time       `json:"started"`
		Worker  string          `json:"worker"`
	} `json:"events"`
	Commands []struct {
		Kind     string          `json:"kind"`
		Seq      int64           `json:"seq"`
		Activity string          `json:"activity"`
		Input    json.RawMessage `json:"input"`
	} `json:"commands"`
}

// BenchmarkCodec: one typical record, by this package and by encoding/json.
func BenchmarkCodec(b *testing.B) {
	rec := typical()
	text := history.AppendRecord(nil, rec)
	var typed plain
	require.NoError(b, json.Unmarshal(text, &typed))
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		out := make([]byte, 0, 1024)
		for b.Loop() {
			out = history.AppendRecord(out[:0], rec)
		}
	})
	b.Run("encode/encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := json.Marshal(&typed); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		var decoder history.Decoder
		for b.Loop() {
			if _, err := decoder.Record(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode/encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var into plain
			if err := json.Unmarshal(text, &into); err != nil {
				b.Fatal(err)
			}
		}
	})
}
