package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// TestCodecKeepsEverything: what is written is JSON, and reads back equal; each event and command by itself, too.
func TestCodecKeepsEverything(t *testing.T) {
	for _, rec := range []*history.Record{record(), {}, {Number: 1, Events: []history.Event{&history.TimerFired{}}}} {
		text := history.AppendRecord([]byte("before"), rec)
		text = bytes.TrimPrefix(text, []byte("before"))
		require.True(t, json.Valid(text), "%s", text)
		again, err := history.DecodeRecord(text)
		require.NoError(t, err)
		require.Equal(t, rec, again)
	}
	for _, event := range events() {
		text := history.EncodeEvent(event)
		require.True(t, json.Valid(text), "%s", text)
		again, err := history.DecodeEvent(text)
		require.NoError(t, err)
		require.Equal(t, event, again)
	}
	for _, command := range commands() {
		text := history.EncodeCommand(command)
		require.True(t, json.Valid(text), "%s", text)
		again, err := history.DecodeCommand(text)
		require.NoError(t, err)
		require.Equal(t, command, again)
	}
}

// TestCheckpoints: a checkpoint reads back where it is asked for. Readers of logs are told that it
// is there; what they show and export has none.
func TestCheckpoints(t *testing.T) {
	for _, c := range []*history.Checkpoint{checkpoint(), {}} {
		rec := record()
		without := history.AppendRecord(nil, rec)
		rec.Checkpoint = c
		text := history.AppendRecord(nil, rec)
		again, err := new(history.Decoder).RecordWithCheckpoint(text)
		require.NoError(t, err)
		require.Equal(t, rec, again)

		again, err = history.DecodeRecord(text)
		require.NoError(t, err)
		require.True(t, again.Checkpoint.Unread)
		require.Empty(t, again.Checkpoint.Pending)
		require.Equal(t, string(without), string(history.AppendRecord(nil, again)))
	}
	none, err := new(history.Decoder).RecordWithCheckpoint(history.AppendRecord(nil, record()))
	require.NoError(t, err)
	require.Nil(t, none.Checkpoint, "as in logs of versions that wrote none")
	stored, err := new(history.Decoder).RecordWithCheckpoint([]byte(`{"v":1,"n":7,"pending":[` +
		`{"time":"2030-01-02T03:04:05.6789Z","generation":1,"command":{"kind":"start-timer","seq":1,"duration":"1h0m0s"}},` +
		`{"time":"2030-01-02T03:04:05.6789Z","generation":2,"command":{"kind":"schedule-activity","unit":"p0.p1","seq":2,"activity":"charge",` +
		`"input":{"to":1}},"cancel":{"kind":"cancel-activity","seq":2}},` +
		`{"generation":2,"command":{"kind":"start-child","seq":3,"workflow":"ship","input":[7]}}]}`))
	require.NoError(t, err)
	require.Equal(t, checkpoint(), stored.Checkpoint, "the stored form stays readable")
	for _, wrong := range []string{`[{}]`, `[{"command":{"kind":"complete"}}]`,
		`[{"command":{"kind":"mark-patch","id":"p"}}]`, `7`} {
		_, err := new(history.Decoder).RecordWithCheckpoint([]byte(`{"v":1,"n":1,"pending":` +
			wrong + `}`))
		require.ErrorIs(t, err, history.ErrUnreadable, wrong)
	}
}

// TestCodecEmptyPayload: a payload of no bytes is no payload; written as it is, it would spoil the record.
func TestCodecEmptyPayload(t *testing.T) {
	again, err := history.DecodeEvent(history.EncodeEvent(history.NewSignal("s", "note", history.Payload{})))
	require.NoError(t, err)
	require.Equal(t, history.NewSignal("s", "note", nil), again)
	command, err := history.DecodeCommand(history.EncodeCommand(&history.UpsertAttributes{Attributes: history.Attributes{"a": history.Payload{}}}))
	require.NoError(t, err)
	require.Equal(t, &history.UpsertAttributes{Attributes: history.Attributes{"a": nil}}, command)
}

// TestCodecKnowsEveryKind: each kind that the package declares is among the cases here, and can be read.
func TestCodecKnowsEveryKind(t *testing.T) {
	known := map[string]bool{}
	for _, event := range events() {
		known[event.Kind()] = true
	}
	for _, command := range commands() {
		known[command.Kind()] = true
	}
	declared := regexp.MustCompile(`Kind\(\) string +\{ return "([a-z-]+)" \}`)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
			require.True(t, known[match[1]], "kind %s of %s has no case in records_test.go", match[1], file)
			count++
		}
	}
	require.Len(t, known, count, "two kinds share a name")
}

// TestCodecForgivesFormat: the order of keys, white space and unknown keys mean nothing.
func TestCodecForgivesFormat(t *testing.T) {
	text := history.AppendRecord(nil, record())
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, text, " ", "\t"))
	again, err := history.DecodeRecord(indented.Bytes())
	require.NoError(t, err)
	require.Equal(t, stripped(t, record()), stripped(t, again))

	// encoding/json sorts keys: "kind" no longer stands first.
	again, err = history.DecodeRecord(sorted(t, text))
	require.NoError(t, err)
	require.Equal(t, stripped(t, record()), stripped(t, again))

	again, err = history.DecodeRecord([]byte(`{"new":{"a":[1,{"b":null}]},"n":3,"events":[{"seq":4,"later":[[]],"kind":"timer-fired"}],"v":1}`))
	require.NoError(t, err)
	require.Equal(t, &history.Record{Number: 3, Events: []history.Event{&history.TimerFired{Seq: 4}}}, again)
}

// sorted is the same JSON as encoding/json writes it.
func sorted(tb testing.TB, text []byte) []byte {
	tb.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(tb, decoder.Decode(&value))
	out, err := json.Marshal(value)
	require.NoError(tb, err)
	return out
}

// stripped is a record's stored form as encoding/json sees it: white space in payloads does not count.
func stripped(tb testing.TB, rec *history.Record) string {
	tb.Helper()
	return string(sorted(tb, history.AppendRecord(nil, rec)))
}

func TestCodecRefuses(t *testing.T) {
	deep := strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000)
	causes := strings.Repeat(`{"cause":`, 100_000) + `{}` + strings.Repeat(`}`, 100_000)
	for name, text := range map[string]string{
		"nothing": ``, "not an object": `[]`, "cut off": `{"v":1,"n":`, "text after the end": `{"v":1} x`, "newer version": `{"v":2,"n":1}`,
		"newer, with unknown kinds": `{"v":2,"events":[{"kind":"dream"}]}`, "without a version": `{"n":1}`, "version 0": `{"v":0,"n":1}`,
		"unknown event": `{"v":1,"events":[{"kind":"dream"}]}`, "unknown command": `{"v":1,"commands":[{"kind":"dream"}]}`,
		"no kind": `{"v":1,"events":[{}]}`, "kind not a text": `{"v":1,"events":[{"kind":3}]}`, "null event": `{"events":[null]}`,
		"number": `{"n":"1"}`, "fraction": `{"n":1.5}`, "too large": `{"n":99999999999999999999}`, "time": `{"time":"yesterday"}`,
		"duration": `{"commands":[{"kind":"start-timer","duration":"1 hour"}]}`, "flag": `{"commands":[{"kind":"mark-patch","deprecated":"yes"}]}`,
		"seed": `{"events":[{"kind":"started","seed":"xyz"}]}`, "escape": `{"author":"\q"}`, "control character": "{\"author\":\"\x01\"}",
		"open string": `{"author":"`, "open escape": `{"author":"\`, "payload": `{"events":[{"kind":"signal","input":nul}]}`,
		"nested too deeply":  `{"events":[{"kind":"signal","input":` + deep + `}]}`,
		"a chain of causes":  `{"events":[{"kind":"activity-resolved","failure":` + causes + `}]}`,
		"list without comma": `{"resumes":[1 2]}`, "trailing comma": `{"resumes":[1,]}`, "no colon": `{"n" 1}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := history.DecodeRecord([]byte(text))
			require.ErrorIs(t, err, history.ErrUnreadable)
			_, err = history.DecodeEvent([]byte(text))
			require.ErrorIs(t, err, history.ErrUnreadable)
			_, err = history.DecodeCommand([]byte(text))
			require.ErrorIs(t, err, history.ErrUnreadable)
		})
	}
	_, err := history.DecodeRecord([]byte(`{"v":2}`))
	require.EqualError(t, err, "unreadable record: version 2, this program reads versions up to 1: it was written by a newer one")
}

// TestErrorsStayShort: the error of a run that is blocked for its record lies in its summary.
func TestErrorsStayShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{
		`{"v":1,"time":"` + long + `"}`, `{"v":1,"events":[{"kind":"` + long + `"}]}`, `{"v":1,"commands":[{"kind":"` + long + `"}]}`,
		`{"v":1,"commands":[{"kind":"start-timer","duration":"` + long + `"}]}`, `{"v":1,"events":[{"kind":"started","seed":"` + long + `"}]}`,
		`{"v":1,"commands":[{"kind":"schedule-activity","retry":{"coefficient":"` + long + `"}}]}`,
		`{"v":1,"events":[{"kind":"signal","input@":"` + long + `"}]}`,
	} {
		_, err := history.DecodeRecord([]byte(text))
		require.ErrorIs(t, err, history.ErrUnreadable)
		require.Less(t, len(err.Error()), 400)
	}
}

// TestLongChainOfCauses: a failure of more causes than can be read is written as far as it can be.
func TestLongChainOfCauses(t *testing.T) {
	var failure *history.Failure
	for i := range 1500 {
		failure = &history.Failure{FailureKind: history.Application, Message: fmt.Sprint(i), Cause: failure}
	}
	event, err := history.DecodeEvent(history.EncodeEvent(&history.ActivityResolved{Failure: failure}))
	require.NoError(t, err)
	length := 0
	for f := event.(*history.ActivityResolved).Failure; f != nil; f = f.Cause {
		length++
	}
	require.Equal(t, 1000, length)
}

// TestCodecText: every text survives; bytes that are not UTF-8 come back as encoding/json would give them.
func TestCodecText(t *testing.T) {
	for _, text := range []string{"", "plain", `"quoted" \ back`, "\n\t\r\b\f\x00\x1f", "</script>&", "dé漢🎉", "\u2028\u2029", "\x7f", "bad \xff\xfe byte", "\xed\xa0\x80"} {
		rec := &history.Record{Author: text, Events: []history.Event{history.NewSignal(text, text, nil)}, Commands: []history.Command{
			&history.UpsertAttributes{Attributes: history.Attributes{text: history.Payload(`1`)}}}}
		again, err := history.DecodeRecord(history.AppendRecord(nil, rec))
		require.NoError(t, err)
		standard, err := json.Marshal(text)
		require.NoError(t, err)
		var want string
		require.NoError(t, json.Unmarshal(standard, &want))
		require.Equal(t, want, again.Author)
		require.Equal(t, want, again.Events[0].(*history.SignalReceived).ID)
		require.Equal(t, history.Attributes{want: history.Payload(`1`)}, again.Commands[0].(*history.UpsertAttributes).Attributes)
	}
}

func TestExport(t *testing.T) {
	export := &history.Export{Run: "r \"1\"", Generation: 2, Workflow: "order", Records: []*history.Record{{Number: 1}, record()}}
	text := history.AppendExport(nil, export)
	require.True(t, json.Valid(text))
	again, err := history.DecodeExport(text)
	require.NoError(t, err)
	require.Equal(t, export, again)
	for _, broken := range []string{``, `{"format":2}`, `{}`, `{"format":0,"records":[{"v":1}]}`, `{"format":1,"records":[{"v":9}]}`,
		`{"format":1,"records":[{}]}`, `{"format":1,"records":[{"v":1,"events":[{"kind":"dream"}]}]}`} {
		_, err := history.DecodeExport([]byte(broken))
		require.ErrorIs(t, err, history.ErrUnreadable, broken)
	}
}
