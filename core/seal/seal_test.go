package seal_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/seal"
)

// key is a line of a key file.
func key() string {
	secret := make([]byte, seal.KeyBytes)
	_, _ = rand.Read(secret)
	return base64.StdEncoding.EncodeToString(secret) + "\n"
}

func cipher(tb testing.TB, lines ...string) *seal.Cipher {
	tb.Helper()
	ring, err := seal.ParseKeyring(strings.Join(lines, ""))
	require.NoError(tb, err)
	return seal.New(ring)
}

func TestWhatIsSealedOpensForItsRun(t *testing.T) {
	c := cipher(t, key())
	for _, value := range []string{"", "1", `{"card":"4242"}`, strings.Repeat(`{"card":"4242"}`, 1000), `"` + strings.Repeat("\x00\xff", 700) + `"`} {
		sealed, err := c.Seal(t.Context(), "order-1", []byte(value))
		require.NoError(t, err)
		require.NotContains(t, string(sealed), "4242")
		if len(value) > 1 { // else it is there by chance
			require.False(t, bytes.Contains(sealed, []byte(value)))
		}
		plain, err := c.Open(t.Context(), "order-1", sealed)
		require.NoError(t, err)
		require.Equal(t, value, string(plain))
		_, err = c.Open(t.Context(), "order-2", sealed)
		require.ErrorIs(t, err, history.ErrUnreadable)
		require.ErrorContains(t, err, "from another run")
	}
}

func TestTheSameValueOfARunIsSealedAlike(t *testing.T) {
	line := key()
	seals := func(c *seal.Cipher, run, value string) string {
		sealed, err := c.Seal(t.Context(), run, []byte(value))
		require.NoError(t, err)
		return string(sealed)
	}
	one := seals(cipher(t, line), "r", "value")
	require.Equal(t, one, seals(cipher(t, line), "r", "value"), "in another process, too")
	require.NotEqual(t, one, seals(cipher(t, line), "s", "value"))
	require.NotEqual(t, one, seals(cipher(t, line), "r", "valuf"))
	require.NotEqual(t, one, seals(cipher(t, key(), line), "r", "value"))
}

func TestLongValuesAreCompressedFirst(t *testing.T) {
	sealed, err := cipher(t, key()).Seal(t.Context(), "r", []byte(strings.Repeat("the same again and again, ", 1000)))
	require.NoError(t, err)
	require.Less(t, len(sealed), 1000)
}

// TestEveryBitCounts: whichever bit of a sealed value is turned, it is refused, and so is every piece of it.
// TestWhatWasSealedBeforeOpens: these texts lie in somebody's store, and are never changed here.
func TestWhatWasSealedBeforeOpens(t *testing.T) {
	c := cipher(t, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", seal.KeyBytes))))
	for text, value := range map[string]string{
		"!AQAIOThhMzJkYTemZxF/stoWc38c5ao3/4tgzdQT7Ss7xmbBnhVcOFEUxz4nKqWyENazpQZf":    `{"card":"4242"}`,
		"!AQEIOThhMzJkYTcVuVcBD6IaHO4OjSrDSFm6H3EFTf1eTBm0bwJlfy0sG+EOfPf7YysiblOOPWo": `"` + strings.Repeat("4242", 256) + `"`,
	} {
		sealed, _, err := seal.Parse(text)
		require.NoError(t, err)
		plain, err := c.Open(t.Context(), "order-1", sealed)
		require.NoError(t, err)
		require.Equal(t, value, string(plain))
	}
}

func TestEveryBitCounts(t *testing.T) {
	c := cipher(t, key())
	sealed, err := c.Seal(t.Context(), "r", []byte(`"a value"`))
	require.NoError(t, err)
	for i := range len(sealed) * 8 {
		damaged := bytes.Clone(sealed)
		damaged[i/8] ^= 1 << (i % 8)
		_, err := c.Open(t.Context(), "r", damaged)
		require.ErrorIs(t, err, history.ErrUnreadable, "bit %d", i)
	}
	for i := range sealed {
		_, err := c.Open(t.Context(), "r", sealed[:i])
		require.ErrorIs(t, err, history.ErrUnreadable, "%d bytes", i)
	}
}

func TestRotation(t *testing.T) {
	before, after := key(), key()
	sealed, err := cipher(t, before).Seal(t.Context(), "r", []byte("1"))
	require.NoError(t, err)
	plain, err := cipher(t, after, before).Open(t.Context(), "r", sealed)
	require.NoError(t, err)
	require.Equal(t, "1", string(plain))
	_, err = cipher(t, after).Open(t.Context(), "r", sealed)
	require.ErrorIs(t, err, history.ErrUnreadable)
	ring, ringErr := seal.ParseKeyring(before)
	require.NoError(t, ringErr)
	require.ErrorContains(t, err, `sealed with key "`+ring.String()+`", which is not here`)
}

func TestKeyring(t *testing.T) {
	first, second := key(), key()
	ring, err := seal.ParseKeyring("# the one of March\r\n  " + first + "\n\n" + second)
	require.NoError(t, err)
	require.Len(t, strings.Split(ring.String(), ", "), 2)
	for text, says := range map[string]string{
		"": "there is no key", "# none\n": "there is no key", first + "c2hvcnQ=": "line 2 is no key", strings.TrimSpace(first) + first: "line 1 is no key", "not base64!": "line 1 is no key",
	} {
		_, err := seal.ParseKeyring(text)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), strings.TrimSpace(first), "an error must not show a key")
	}
}

// TestEveryValueOfARecordIsSealed: the marker is wherever a record can have a value, or words, of the author's or a caller's.
func TestEveryValueOfARecordIsSealed(t *testing.T) {
	const marker = "the-marker"
	c := cipher(t, key())
	rec := everywhere(marker)
	require.Contains(t, string(history.AppendRecord(nil, rec)), marker)
	text, err := seal.Encode(t.Context(), c, "r", func(e history.Encoder) ([]byte, error) { return e.Record(rec), nil })
	require.NoError(t, err)
	require.NotContains(t, string(text), marker)
	for _, readable := range []string{`"kind":"activity-resolved"`, `"activity":"charge"`, `"message@":"!`, `"searched"`} {
		require.Contains(t, string(text), readable)
	}
	opened, err := seal.Decode(t.Context(), c, "r", &history.Decoder{}, func(d *history.Decoder) (*history.Record, error) { return d.Record(text) })
	require.NoError(t, err)
	require.Equal(t, string(history.AppendRecord(nil, rec)), string(history.AppendRecord(nil, opened)))

	for name, codec := range map[string]seal.Codec{"without a key": nil, "with another key": cipher(t, key())} {
		_, err := seal.Decode(t.Context(), codec, "r", &history.Decoder{}, func(d *history.Decoder) (*history.Record, error) { return d.Record(text) })
		require.ErrorIs(t, err, history.ErrUnreadable, name)
		require.ErrorContains(t, err, "key", name)
	}
	_, err = history.DecodeRecord(text)
	require.ErrorIs(t, err, history.ErrUnreadable, "whoever knows nothing of seals must not take the value for none")
}

// everywhere is a record with a text in every value and in all words.
func everywhere(text string) *history.Record {
	value := history.Payload(`{"v":"` + text + `"}`)
	failure := func() *history.Failure {
		return &history.Failure{FailureKind: history.Panic, Type: "refused", Message: text, Stack: text, Details: value,
			Cause: &history.Failure{FailureKind: history.Application, Message: "why: " + text, Details: value}}
	}
	return &history.Record{Number: 1,
		Tried: []history.Tried{{Seq: 5, Attempts: []history.Attempt{{Number: 1, Failure: failure()}}}},
		Events: []history.Event{
			&history.Started{Generation: 1, Workflow: "order", Input: value, Attributes: history.Attributes{"searched": history.Payload(`1`)},
				Signals: []*history.SignalReceived{history.NewSignal("m1", "s", value)}},
			&history.ActivityResolved{Seq: 1, Result: value}, &history.ActivityResolved{Seq: 2, Failure: failure(), Attempts: []history.Attempt{{Number: 1, Failure: failure()}}},
			&history.ChildResolved{Seq: 3, Result: value}, &history.ChildResolved{Seq: 4, Failure: failure()},
			history.NewSignal("m2", "s", value), history.NewUpdate("m3", "u", value), history.NewCancel("m4", text), history.NewTerminate("m5", text),
			history.NewReset("m6", 1, 1, text),
		},
		Commands: []history.Command{
			&history.ScheduleActivity{Activity: "charge", Input: value}, &history.StartChild{Workflow: "ship", Input: value},
			&history.RespondUpdate{ID: "m3", Result: value}, &history.RespondUpdate{ID: "m3", Failure: failure()}, &history.ContinueAsNew{Workflow: "order", Input: value},
			&history.CompleteRun{Result: value}, &history.FailRun{Failure: failure()}, &history.CancelRun{Failure: failure()}, &history.TerminateRun{Failure: failure()},
		}}
}

// away is a key service that does not answer.
type away struct{ *seal.Keyring }

var errAway = errors.New("the service does not answer")

func (away) Current(context.Context) (*seal.Key, error)      { return nil, errAway }
func (away) Find(context.Context, string) (*seal.Key, error) { return nil, errAway }

// TestAServiceThatDoesNotAnswer: that blocks no run.
func TestAServiceThatDoesNotAnswer(t *testing.T) {
	encode := func(e history.Encoder) ([]byte, error) {
		return e.Event(history.NewSignal("m", "s", history.Payload("1"))), nil
	}
	_, err := seal.Encode(t.Context(), seal.New(away{}), "r", encode)
	require.ErrorIs(t, err, errAway)
	text, err := seal.Encode(t.Context(), cipher(t, key()), "r", encode)
	require.NoError(t, err)
	_, err = seal.Decode(t.Context(), seal.New(away{}), "r", &history.Decoder{}, func(d *history.Decoder) (history.Event, error) { return d.Event(text) })
	require.ErrorIs(t, err, errAway)
	require.NotErrorIs(t, err, history.ErrUnreadable)
}

// BenchmarkRecord is what sealing adds to a typical record, of two values.
func BenchmarkRecord(b *testing.B) {
	schedule := &history.ScheduleActivity{Activity: "ship", Input: history.Payload(`{"order":"o-77","items":["a","b"]}`)}
	schedule.Number(40)
	rec := &history.Record{Number: 41, Author: "node/7", Commands: []history.Command{schedule},
		Events: []history.Event{&history.ActivityResolved{Seq: 39, Result: history.Payload(`{"id":"ch_123","amount":4200}`), Worker: "w-1"}}}
	for _, codec := range []seal.Codec{nil, cipher(b, key())} {
		name := fmt.Sprintf("sealed=%v", codec != nil)
		var text []byte
		out := make([]byte, 0, 1024)
		b.Run(name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text, _ = seal.Encode(b.Context(), codec, "order-77", func(e history.Encoder) ([]byte, error) { return e.AppendRecord(out[:0], rec), nil })
			}
			b.ReportMetric(float64(len(text)), "bytes")
		})
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			decoder := &history.Decoder{}
			for b.Loop() {
				if _, err := seal.Decode(b.Context(), codec, "order-77", decoder, func(d *history.Decoder) (*history.Record, error) { return d.Record(text) }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
