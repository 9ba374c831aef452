package flow

import (
	"encoding/json"
	"fmt"
	"time"
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
	Step   int             `json:"step"`            // the number of the node among the run's steps
	Shared object          `json:"shared"`          //
	Input  json.RawMessage `json:"input,omitempty"` // of the subflow that the frame is of
	Now    *current        `json:"now,omitempty"`   // the node's own progress; nil: it was not entered yet

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

// begin makes the progress of a run that starts with this input.
func begin(d *Definition, input json.RawMessage, generation int) (*progress, error) {
	params := object{}
	if !isNull(input) {
		if err := json.Unmarshal(input, &params); err != nil {
			return nil, fmt.Errorf("the input of a flow is a JSON object, its params: %w", err)
		}
	}
	continued, has := params[runtimeKey]
	switch {
	case !has:
		return &progress{Params: params, Frame: newFrame(d, nil)}, nil
	case generation == 1:
		return nil, fmt.Errorf(
			"the params contain the key %q, which belongs to the engine: use another name",
			runtimeKey)
	}
	p := &progress{}
	if err := json.Unmarshal(continued, p); err != nil {
		return nil, fmt.Errorf("the position that the flow continues at cannot be read: %w", err)
	}
	return p, p.Frame.restore(d, nil)
}

func newFrame(d *Definition, up *frame) *frame {
	return &frame{Node: d.Start, Shared: object{}, up: up}
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
		f.Shared = object{}
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
			"the flow continues inside node %q, which has no subflow in this version of the "+
				"definition: reset the run to another version", f.Node)
	}
	return f.Now.Sub.restore(n.Subflow, f)
}

// carry gives the input of the next generation.
func (p *progress) carry() json.RawMessage {
	if over := len(p.Rows) - carriedRows; over > 0 {
		p.Rows, p.Dropped = p.Rows[over:], p.Dropped+over
	}
	return encode(map[string]any{runtimeKey: p})
}

// innermost is the frame of the node that runs.
func (p *progress) innermost() *frame {
	f := p.Frame
	for f.Now != nil && f.Now.Sub != nil {
		f = f.Now.Sub
	}
	return f
}
