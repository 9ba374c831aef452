package history_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// Each of these holds arbitrary bytes against the same promises: they are read or refused as history.ErrUnreadable, without a
// panic; what is read is JSON; what was read can be written, as JSON that reads back equal, whatever the order of its keys.
//
// The corpora in testdata/fuzz are small and named for what they show; every test run goes over them.

func FuzzRecord(f *testing.F) {
	f.Add(history.AppendRecord(nil, record()))
	f.Add(history.AppendRecord(nil, &history.Record{Number: 1, Checkpoint: checkpoint()}))
	for _, event := range events() {
		f.Add(history.AppendRecord(nil, &history.Record{Number: 1, Events: []history.Event{event}}))
	}
	for _, command := range commands() {
		f.Add(history.AppendRecord(nil, &history.Record{Number: 1, Commands: []history.Command{command}}))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		encode := func(rec *history.Record) []byte { return history.AppendRecord(nil, rec) }
		comesAgain(t, text, history.DecodeRecord, encode)
		comesAgain(t, text, new(history.Decoder).RecordWithCheckpoint, encode)
	})
}

func FuzzEvent(f *testing.F) {
	for _, event := range events() {
		f.Add(history.EncodeEvent(event))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		event := comesAgain(t, text, history.DecodeEvent, history.EncodeEvent)
		if event == nil {
			return
		}
		require.Equal(t, "again", history.Refile(event, "again").Filing())
		_ = event.Key(1)
	})
}

func FuzzCommand(f *testing.F) {
	for _, command := range commands() {
		f.Add(history.EncodeCommand(command))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		command := comesAgain(t, text, history.DecodeCommand, history.EncodeCommand)
		if command == nil {
			return
		}
		again, err := history.DecodeCommand(history.EncodeCommand(command))
		require.NoError(t, err)
		require.Equal(t, command.Fields(), again.Fields(), "what replay compares")
	})
}

func FuzzExport(f *testing.F) {
	f.Add(history.AppendExport(nil, &history.Export{Run: "r", Generation: 2, Workflow: "order", Records: []*history.Record{record()}}))
	f.Add(history.AppendExport(nil, &history.Export{Run: "r", Generation: 1, Workflow: "order", Records: []*history.Record{{Number: 1}, {Number: 2}}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		comesAgain(t, text, history.DecodeExport, func(e *history.Export) []byte { return history.AppendExport(nil, e) })
	})
}

// FuzzElsewhere reads records whose payloads may be kept elsewhere, where each place has a payload of its own; and writes
// them back with some of them sent away.
func FuzzElsewhere(f *testing.F) {
	all := kept{}
	f.Add(all.away(0).Record(record()), 8)
	f.Add(history.AppendRecord(nil, record()), 0)
	f.Fuzz(func(t *testing.T, text []byte, longest int) {
		decoder := history.Decoder{Fetch: func(place string) (history.Payload, error) {
			if strings.HasPrefix(place, "gone") {
				return nil, errGone
			}
			return history.Encode(place)
		}}
		rec, err := decoder.Record(text)
		if err != nil {
			require.ErrorIs(t, err, history.ErrUnreadable)
			return
		}
		k := kept{}
		written := k.away(longest).Record(rec)
		require.True(t, json.Valid(written), "written, but not JSON: %s", written)
		again, err := (&history.Decoder{Fetch: k.fetch}).Record(written)
		require.NoError(t, err)
		require.Equal(t, string(history.AppendRecord(nil, rec)), string(history.AppendRecord(nil, again)))
	})
}

// comesAgain reads a text, and what it reads again after it was written; the zero value if the text is refused.
func comesAgain[T any](t *testing.T, text []byte, decode func([]byte) (T, error), encode func(T) []byte) (none T) {
	t.Helper()
	value, err := decode(text)
	if err != nil {
		require.ErrorIs(t, err, history.ErrUnreadable)
		return none
	}
	require.True(t, lenient(text), "read, but not JSON: %s", text)
	written := encode(value)
	require.True(t, json.Valid(written), "written, but not JSON: %s", written)
	again, err := decode(written)
	require.NoError(t, err)
	rewritten := encode(again)
	require.Equal(t, string(written), string(rewritten))
	third, err := decode(rewritten)
	require.NoError(t, err)
	require.Equal(t, again, third, "nothing but what the first reading normalised changes")
	other, err := decode(sorted(t, written))
	require.NoError(t, err)
	require.Equal(t, string(sorted(t, written)), string(sorted(t, encode(other))))
	return again
}

// lenient is json.Valid, except that whole numbers may begin with zeros.
func lenient(text []byte) bool {
	return json.Valid(text) || json.Valid(regexp.MustCompile(`([:\[,\s]-?)0+(\d)`).ReplaceAll(text, []byte("$1$2")))
}
