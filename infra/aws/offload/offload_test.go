package offload_test

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
)

// value is a payload of so many bytes, each number another one.
func value(bytes, number int) history.Payload {
	head := fmt.Sprintf(`"%d`, number)
	return history.Payload(head + strings.Repeat("x", bytes-len(head)-1) + `"`)
}

// manyResults is a record that takes the results of a fan-out.
func manyResults(count, bytes int) *history.Record {
	rec := &history.Record{Number: 2, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Author: "a"}
	for i := range count {
		rec.Events = append(rec.Events, &history.ActivityResolved{Seq: int64(i), Result: value(bytes, i)})
	}
	return rec
}

func TestLongPayloadsAreKeptElsewhere(t *testing.T) {
	for _, size := range []int{100, offload.Longest, offload.Longest + 1, 100_000} {
		places := offloadtest.New()
		codec := offload.Codec{Places: places}
		rec := manyResults(100, size)
		for range 2 { // what is kept already is not kept again
			text, err := codec.EncodeRecord(t.Context(), "r", rec)
			require.NoError(t, err)
			if size > offload.Longest {
				require.Equal(t, 100, places.Puts)
				require.Less(t, len(text), 100*200)
			} else {
				require.Zero(t, places.Puts)
			}
			require.True(t, json.Valid(text))
			got, err := codec.DecodeRecord(t.Context(), "r", text)
			require.NoError(t, err)
			require.Equal(t, string(history.AppendRecord(nil, rec)), string(history.AppendRecord(nil, got)))
		}
	}
}

func TestSummary(t *testing.T) {
	places := offloadtest.New()
	codec := offload.Codec{Places: places}
	summary := &port.Summary{Run: "r", Workflow: "w", Generation: 2, Status: history.Failed,
		Started:    time.Date(2026, 1, 1, 0, 0, 0, 9, time.UTC),
		Input:      value(40_000, 1),
		Result:     value(40_000, 2),
		State:      history.Payload(`"<&>"`),
		Failure:    &history.Failure{FailureKind: history.Application, Message: "m"},
		Attributes: history.Attributes{"a": history.Payload(`1`)}}
	text, err := codec.EncodeSummary(t.Context(), summary)
	require.NoError(t, err)
	require.Less(t, len(text), 1000)
	require.Equal(t, 2, places.Len())
	got, err := codec.DecodeSummary(t.Context(), "r", text)
	require.NoError(t, err)
	require.Equal(t, summary, got)
	require.NoError(t, places.Forget(t.Context(), "r"))
	_, err = codec.DecodeSummary(t.Context(), "r", text)
	require.ErrorIs(t, err, history.ErrUnreadable)
}

func TestPlacesThatDoNotAnswer(t *testing.T) {
	places := offloadtest.New()
	codec := offload.Codec{Places: places}
	rec := manyResults(30, 40_000)
	text, err := codec.EncodeRecord(t.Context(), "r", rec)
	require.NoError(t, err)
	places.Fails = func() error { return port.ErrUnavailable }
	_, err = codec.EncodeRecord(t.Context(), "r", rec)
	require.ErrorIs(t, err, port.ErrUnavailable)
	_, err = codec.DecodeRecord(t.Context(), "r", text)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.NotErrorIs(t, err, history.ErrUnreadable, "the run is not to be blocked for it")
	places.Fails = func() error { return errors.New("no such bucket") }
	_, err = codec.DecodeRecord(t.Context(), "r", text)
	require.ErrorIs(t, err, history.ErrUnreadable)
}

func TestPack(t *testing.T) {
	places := offloadtest.New()
	codec := offload.Codec{Places: places}
	const limit = 5000
	for name, c := range map[string]struct {
		text []byte
		as   byte
	}{
		"short":                       {[]byte(`{"a":1}`), '{'},
		"one unit":                    {value(890, 1), '"'},
		"deflated":                    {value(20_000, 1), 0x01},
		"incompressible, in one unit": {[]byte(`{}`), '{'},
		"too long":                    {[]byte(`[` + string(bytes.Repeat([]byte("1,"), 10)) + `"` + hard(9000) + `"]`), '@'},
	} {
		packed, err := codec.Pack(t.Context(), "r", c.text, limit)
		require.NoError(t, err)
		require.LessOrEqual(t, len(packed), limit, name)
		require.Equal(t, string(c.as), string(packed[0]), name)
		text, err := codec.Unpack(t.Context(), packed)
		require.NoError(t, err)
		require.Equal(t, string(c.text), string(text), name)
	}
	for _, damaged := range [][]byte{nil, {0x01, 0xff, 0xff}, []byte("@nowhere")} {
		_, err := codec.Unpack(t.Context(), damaged)
		require.ErrorIs(t, err, history.ErrUnreadable)
	}
}

// hard is text that hardly deflates.
func hard(length int) string {
	text, state := make([]byte, length), uint64(1)
	for i := range text {
		state = state*6364136223846793005 + 1442695040888963407
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"[state>>58]
	}
	return string(text)
}

// TestInflationIsBounded: few bytes do not become more than a text may have.
func TestInflationIsBounded(t *testing.T) {
	codec := offload.Codec{Places: offloadtest.New()}
	long := bytes.Repeat([]byte("x"), 64<<20)
	packed, err := codec.Pack(t.Context(), "r", long, 100<<10)
	require.NoError(t, err)
	require.EqualValues(t, 1, packed[0], "as long as it may be, it is deflated")
	text, err := codec.Unpack(t.Context(), packed)
	require.NoError(t, err)
	require.Len(t, text, len(long))

	longer := bytes.Repeat([]byte("x"), len(long)+1)
	packed, err = codec.Pack(t.Context(), "r", longer, 100<<10)
	require.NoError(t, err)
	require.EqualValues(t, '@', packed[0], "kept elsewhere, as it is")
	text, err = codec.Unpack(t.Context(), packed)
	require.NoError(t, err)
	require.Len(t, text, len(longer))

	bomb := bytes.NewBuffer([]byte{1})
	deflate, err := flate.NewWriter(bomb, flate.BestSpeed)
	require.NoError(t, err)
	_, err = deflate.Write(longer)
	require.NoError(t, err)
	require.NoError(t, deflate.Close())
	_, err = codec.Unpack(t.Context(), bomb.Bytes())
	require.ErrorIs(t, err, history.ErrUnreadable)
	require.ErrorContains(t, err, "inflate to more than 67108864")
}
