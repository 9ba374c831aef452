package flow

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/workflow"
)

// Message writes a key of a run's shared state (S4.19). It may come at any time, also before the
// node that reads the key.
type Message struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Messages and queries of every run of a flow.
var (
	// Set is the signal that writes a key. A run ignores one that is not valid, and logs it.
	Set = workflow.NewSignal[Message]("set")
	// SetNow is Set with an answer: once it comes, the published state has the value.
	SetNow = workflow.NewUpdate[Message, workflow.None]("set")
	// StateQuery gives the state with the whole shared state.
	StateQuery = workflow.NewQuery[workflow.None, State]("state")
	// RowsQuery gives node runs. Those of calls lie in the history with input, result and worker.
	RowsQuery = workflow.NewQuery[Page, Rows]("rows")
)

// anySet is Set as a run takes it: a message that does not fit must not block the run.
var anySet = workflow.NewSignal[json.RawMessage]("set")

// longestKey is how many bytes a key of the shared state has at most.
const longestKey = 200

// invalid names the mistake in a message.
func (m Message) invalid() error {
	switch {
	case m.Key == "" || len(m.Key) > longestKey:
		return fmt.Errorf(
			"the field \"key\" must have 1 to %d bytes, it has %d", longestKey, len(m.Key))
	case m.Key == runtimeKey:
		return fmt.Errorf("the key %q belongs to the engine: use another key", runtimeKey)
	}
	return nil
}

// messageOf reads a message. The error says what it must be.
func messageOf(text json.RawMessage) (m Message, err error) {
	if m, err = decode[Message](orNull(text)); err != nil {
		return m, errors.New(`it must be an object such as {"key": "approved", "value": true}`)
	}
	return m, m.invalid()
}

// FitsInput says why a start's input is not the params of a task; nil if it is.
func FitsInput(input []byte) error {
	_, err := begin(&Definition{}, input, 1)
	return err
}

// FitsSignal says why a run would ignore a signal; nil if it would not. A flow takes the signal
// [Set] alone. Others stay unread.
func FitsSignal(name string, input []byte) error {
	if name != Set.Name() {
		return nil
	}
	_, err := messageOf(input)
	return err
}

// handle answers messages and queries, from the start to the end of the run.
func (r *run) handle(ctx workflow.Context) {
	workflow.HandleQuery(ctx, StateQuery, func(workflow.None) (State, error) {
		return r.show(), nil
	})
	workflow.HandleQuery(ctx, RowsQuery, func(ask Page) (Rows, error) {
		return r.page(ask), nil
	})
	workflow.HandleSignal(ctx, anySet, func(ctx workflow.Context, text json.RawMessage) error {
		m, err := messageOf(text)
		if err == nil {
			err = r.set(ctx, m)
		}
		return err
	})
	set := func(ctx workflow.Context, m Message) (workflow.None, error) {
		return workflow.None{}, r.set(ctx, m)
	}
	workflow.HandleUpdate(ctx, SetNow, set, Message.invalid)
}

// set writes a key of the outermost shared state. Waiting nodes then look at it.
func (r *run) set(ctx workflow.Context, m Message) error {
	r.measure(ctx)
	if err := r.Frame.Shared.write(m.Key, m.Value); err != nil {
		return err
	}
	r.writes++
	r.publish(ctx)
	return nil
}
