package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// progress is how far a run is. It is what continue-as-new carries (S4.46–S4.48, S4.52).
type progress struct {
	Params object `json:"params"`
	// Frame is the position in the flow; those of subflows lie inside it.
	Frame *frame `json:"frame"`
	// Steps counts the nodes that were entered, Last is the action of the last one that ended.
	Steps int    `json:"steps"`
	Last  string `json:"last,omitempty"`
	// Rows are the newest node runs, and Dropped is how many older ones there were.
	Rows    []Row `json:"rows,omitempty"`
	Dropped int   `json:"dropped,omitempty"`
}

// frame is the position in one flow: the node that runs, and the flow's shared state.
type frame struct {
	Node   string          `json:"node"`
	Step   int             `json:"step"` // the number of the node among the run's steps
	Shared *shared         `json:"shared"`
	Input  json.RawMessage `json:"input,omitempty"` // of the subflow that the frame is of
	Now    *current        `json:"now,omitempty"`   // the node's progress; nil: it was not entered

	up *frame // of the flow around it
}

// current is how far a node is.
type current struct {
	Input   json.RawMessage `json:"input,omitempty"`
	Entered time.Time       `json:"entered"`
	Due     time.Time       `json:"due,omitzero"`      // when a timer or a waiting node ends
	Retries int             `json:"retries,omitempty"` // of a subflow or a waiting node
	Fan     *fan            `json:"fan,omitempty"`
	Sub     *frame          `json:"sub,omitempty"`
}

// begin makes the progress of a run that starts with this input. With an error, it is that of a run
// that has done nothing.
func begin(d *Definition, input json.RawMessage, generation int) (*progress, error) {
	fresh := &progress{Params: object{}, Frame: newFrame(d, nil)}
	if isNull(input) {
		return fresh, nil
	}
	params, err := decode[object](input)
	if err != nil {
		return fresh, errors.New("the input of a flow must be a JSON object: its params")
	}
	continued, has := params[runtimeKey]
	switch {
	case !has:
		fresh.Params = params
		return fresh, nil
	case generation == 1:
		return fresh, fmt.Errorf(
			"the params contain the key %q, which belongs to the engine: use another name", runtimeKey)
	}
	p, err := decode[*progress](continued)
	if err == nil && p == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return fresh, fmt.Errorf("the position that the flow continues at cannot be read: %w", err)
	}
	if err := p.Frame.restore(d, nil); err != nil {
		return fresh, err
	}
	return p, nil
}

func newFrame(d *Definition, up *frame) *frame {
	return &frame{Node: d.Start, Shared: newShared(), up: up}
}

// restore completes a frame that was read, and checks it against the definition.
func (f *frame) restore(d *Definition, up *frame) error {
	if f == nil {
		return fmt.Errorf("the position that the flow continues at is empty")
	}
	n := d.Node(f.Node)
	if n == nil {
		return fmt.Errorf(
			"the flow continues at node %q, which this version of the definition does not have: "+
				"reset the run to another version", f.Node)
	}
	if f.up = up; f.Shared == nil {
		f.Shared = newShared()
	}
	if f.Now == nil {
		return nil
	}
	if f.Now.Fan != nil {
		f.Now.Fan.restore()
	}
	if f.Now.Sub == nil {
		return nil
	}
	if n.Subflow == nil {
		return fmt.Errorf(
			"the flow continues inside node %q, which is without a subflow in this version of the "+
				"definition: reset the run to another version", f.Node)
	}
	return f.Now.Sub.restore(n.Subflow, f)
}

// carry gives the input of the next generation; false if it is larger than an input may be.
func (p *progress) carry() (history.Payload, bool) {
	carried := *p
	if over := len(p.Rows) - carriedRows; over > 0 {
		carried.Rows, carried.Dropped = p.Rows[over:], p.Dropped+over
	}
	text := history.Payload(encode(map[string]any{runtimeKey: &carried}))
	return text, len(text) <= history.MaxPayload && !history.TooDeep(text)
}

// innermost is the frame of the node that runs.
func (p *progress) innermost() *frame {
	f := p.Frame
	for f.Now != nil && f.Now.Sub != nil {
		f = f.Now.Sub
	}
	return f
}
