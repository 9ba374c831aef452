package port

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// The stored forms of what is no record, event or command: JSON, with all that history.Encoder has something else stand for left
// out, and what stands for it beside the rest, in the member "away".

// away is what stands for fields, by their name in JSON.
type away map[string]string

// send has a payload go away, if it is one that does.
func (a *away) send(e history.Encoder, name string, payload *history.Payload) {
	if e.Away == nil || len(*payload) == 0 {
		return
	}
	if place, sent := e.Away(*payload); sent {
		if *a == nil {
			*a = away{}
		}
		(*a)[name], *payload = place, nil
	}
}

// sendText is send for what the author's code or a caller said in words: see [history.Encoder.Texts].
func (a *away) sendText(e history.Encoder, name string, text *string) error {
	if !e.Texts || *text == "" {
		return nil
	}
	payload, err := history.Encode(*text)
	if err != nil {
		return err
	}
	if a.send(e, name, &payload); payload == nil {
		*text = ""
	}
	return nil
}

// fetch gets a payload back, if it went away.
func (a away) fetch(d *history.Decoder, name string, into *history.Payload) error {
	place, sent := a[name]
	if !sent {
		return nil
	}
	if d.Fetch == nil {
		return fmt.Errorf("%w: its %s is sealed, or kept elsewhere, and nothing here can open or fetch it", history.ErrUnreadable, name)
	}
	payload, err := d.Fetch(place)
	if err != nil {
		return fmt.Errorf("%w: its %s: %w", history.ErrUnreadable, name, err)
	}
	*into = payload
	return nil
}

// fetchAs is fetch for what is no payload. Nothing, as a decoder's first pass may get it, changes nothing.
func (a away) fetchAs(d *history.Decoder, name string, into any) error {
	var payload history.Payload
	if err := a.fetch(d, name, &payload); err != nil || payload == nil {
		return err
	}
	return decodeAway(payload, name, into)
}

func decodeAway(payload history.Payload, name string, into any) error {
	if err := json.Unmarshal(payload, into); err != nil {
		return fmt.Errorf("%w: its %s: %w", history.ErrUnreadable, name, err)
	}
	return nil
}

// ErrLeftOut is what a [history.Decoder.Fetch] gives for a value of a summary that is kept
// elsewhere and is not to be fetched.
var ErrLeftOut = errors.New("left out")

type storedSummary struct {
	Summary
	StoredStart string `json:"start,omitempty"`
	Away        away   `json:"away,omitempty"`
	// Sizes of the long ones among those that went away: lists say them without fetching anything.
	Sizes map[string]int64 `json:"sizes,omitempty"`
}

// send has a value go away, and notes how long it is.
func (s *storedSummary) send(e history.Encoder, name string, payload *history.Payload) {
	size := len(*payload)
	if s.Away.send(e, name, payload); *payload == nil && size > LongestListed {
		if s.Sizes == nil {
			s.Sizes = map[string]int64{}
		}
		s.Sizes[name] = int64(size)
	}
}

// fetch gets a value back; one that [history.Decoder.Fetch] leaves out is [Summary.Large].
func (s *storedSummary) fetch(d *history.Decoder, name string, into *history.Payload) error {
	err := s.Away.fetch(d, name, into)
	if errors.Is(err, ErrLeftOut) {
		s.leftOut(name, Large{Bytes: s.Sizes[name]})
		return nil
	}
	return err
}

// field is one that may go away.
type field struct {
	name    string
	payload *history.Payload
}

// fields are those of a summary. Attributes stay: they are searched by.
func (s *storedSummary) fields() [3]field {
	return [3]field{{"input", &s.Input}, {"result", &s.Result}, {"state", &s.State}}
}

// EncodeSummary gives the stored form of a summary. A failure goes away as a whole, and only with [history.Encoder.Texts]: by itself it is rarely long.
func EncodeSummary(e history.Encoder, summary *Summary) ([]byte, error) {
	stored := storedSummary{Summary: *summary, StoredStart: summary.Start}
	stored.Large = nil
	for _, f := range stored.fields() {
		stored.send(e, f.name, f.payload)
	}
	if e.Texts && stored.Failure != nil {
		text, err := history.Marshal(stored.Failure)
		if err != nil {
			return nil, fmt.Errorf("the failure of run %q cannot be stored: %w", summary.Run, err)
		}
		failure := history.Payload(text)
		if stored.send(e, ValueFailure, &failure); failure == nil {
			stored.Failure = nil
		}
	}
	if stored.Blocked != nil {
		block := *stored.Blocked
		stored.Blocked = &block
		if err := stored.Away.sendText(e, "blocked", &block.Message); err != nil {
			return nil, fmt.Errorf("the block of run %q cannot be stored: %w", summary.Run, err)
		}
	}
	long := stored.long()
	text, err := history.Marshal(&stored)
	if err != nil {
		return nil, fmt.Errorf("the summary of run %q cannot be stored: %w", summary.Run, err)
	}
	return appendLong(text, long), nil
}

// longField is a field that encoding/json would copy several times: its text goes into the stored
// form as it is.
type longField struct {
	name    string
	payload history.Payload
}

// long takes the long fields out of the summary.
func (s *storedSummary) long() (long []longField) {
	const most = 4 << 10
	for _, f := range s.fields() {
		if len(*f.payload) > most {
			long = append(long, longField{f.name, *f.payload})
			*f.payload = nil
		}
	}
	return long
}

// appendLong puts fields at the end of an object that is not empty.
func appendLong(object []byte, long []longField) []byte {
	size := 0
	for _, f := range long {
		size += len(f.name) + len(f.payload) + len(`,"":`)
	}
	object = slices.Grow(object, size)
	for _, f := range long {
		object = append(object[:len(object)-1], `,"`+f.name+`":`...)
		object = append(append(object, f.payload...), '}')
	}
	return object
}

// DecodeSummary reads it back. Whose it is, an error does not say: the store knows.
func DecodeSummary(d *history.Decoder, text []byte) (*Summary, error) {
	stored := &storedSummary{}
	if err := json.Unmarshal(text, stored); err != nil {
		return nil, fmt.Errorf("%w: %w", history.ErrUnreadable, err)
	}
	for _, f := range stored.fields() {
		if err := stored.fetch(d, f.name, f.payload); err != nil {
			return nil, err
		}
	}
	var failure history.Payload
	err := stored.fetch(d, ValueFailure, &failure)
	if err == nil && failure != nil {
		err = decodeAway(failure, ValueFailure, &stored.Failure)
	}
	if err == nil && stored.Blocked != nil {
		err = stored.Blocked.fetch(d, stored.Away, "blocked")
	}
	if err != nil {
		return nil, err
	}
	stored.Start = stored.StoredStart
	return &stored.Summary, nil
}

// storedTask has the failed attempts in the form that the log gives them: a record with nothing
// else.
type storedTask struct {
	TaskState
	Failed json.RawMessage `json:"failed,omitempty"`
	Away   away            `json:"away,omitempty"`
}

// EncodeTask gives the stored form of what is known of an activity under way.
func EncodeTask(e history.Encoder, state *TaskState) ([]byte, error) {
	stored := storedTask{TaskState: *state}
	stored.Away.send(e, "details", &stored.Details)
	err := stored.Away.sendText(e, "failure", &stored.Failure)
	if len(state.Failed) > 0 {
		stored.Failed = e.Record(&history.Record{Tried: []history.Tried{{Seq: state.Seq, Attempts: state.Failed}}})
	}
	var text []byte
	if err == nil {
		text, err = history.Marshal(&stored)
	}
	if err != nil {
		return nil, fmt.Errorf("the state of activity %d of run %q cannot be stored: %w", state.Seq, state.Run, err)
	}
	return text, nil
}

// DecodeTask reads it back.
func DecodeTask(d *history.Decoder, text []byte) (*TaskState, error) {
	stored := &storedTask{}
	err := json.Unmarshal(text, stored)
	if err != nil {
		return nil, fmt.Errorf("%w: the state of an activity: %w", history.ErrUnreadable, err)
	}
	if err = stored.Away.fetch(d, "details", &stored.Details); err == nil {
		err = stored.Away.fetchAs(d, "failure", &stored.Failure)
	}
	if err == nil && len(stored.Failed) > 0 {
		var rec *history.Record
		if rec, err = d.Record(stored.Failed); err == nil && len(rec.Tried) > 0 {
			stored.TaskState.Failed = rec.Tried[0].Attempts
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the state of activity %d of run %q: %w", stored.Seq, stored.Run, err)
	}
	return &stored.TaskState, nil
}

type storedBlock struct {
	Block
	Away away `json:"away,omitempty"`
}

// EncodeBlock gives the stored form of a block: the message of one for nondeterminism quotes what the code decided.
func EncodeBlock(e history.Encoder, block *Block) ([]byte, error) {
	stored := storedBlock{Block: *block}
	err := stored.Away.sendText(e, "message", &stored.Message)
	var text []byte
	if err == nil {
		text, err = history.Marshal(&stored)
	}
	if err != nil {
		return nil, fmt.Errorf("a block cannot be stored: %w", err)
	}
	return text, nil
}

// DecodeBlock reads it back. Whose it is, an error does not say: the store knows.
func DecodeBlock(d *history.Decoder, text []byte) (*Block, error) {
	stored := &storedBlock{}
	if err := json.Unmarshal(text, stored); err != nil {
		return nil, fmt.Errorf("%w: %w", history.ErrUnreadable, err)
	}
	if err := stored.Block.fetch(d, stored.Away, "message"); err != nil {
		return nil, err
	}
	return &stored.Block, nil
}

// fetch gets the message back, if it went away under this name.
func (b *Block) fetch(d *history.Decoder, away away, name string) error {
	err := away.fetchAs(d, name, &b.Message)
	if errors.Is(err, ErrLeftOut) {
		b.Message = "The message is long: the run's own summary has it."
		return nil
	}
	return err
}
