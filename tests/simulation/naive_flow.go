package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// naiveFlow is a second implementation of flows: it goes from node to node in ordinary code, and
// keeps where it is in its variables. It carries nothing from one generation to the next: the same
// code continues.
type naiveFlow struct {
	n         *naive
	def       *flowDef
	longAfter int // events and commands that make a log long; 0: none does
	long      bool
	outermost *naiveFrame
	inner     *naiveFrame // of the node that runs
	steps     int
	last      string // action
	rows      []string
	began     bool // in this generation
	ended     bool
	failed    string          // the place of the node that ended it
	met       map[string]bool // see flowCoverage
}

// naiveFrame is one flow, or subflow, that runs.
type naiveFrame struct {
	def    *flowDef
	node   string
	shared map[string]any
	input  any // of the subflow
	up     *naiveFrame
	depth  int
}

// naiveVisit is one node's turn.
type naiveVisit struct {
	*naiveFlow
	s       naiveSurface
	node    *flowNode
	frame   *naiveFrame
	step    int
	params  map[string]any
	input   any
	retried int
	entered time.Time
}

// failedAt is the place of a node that failed: its key, after those of the subflows around it. Empty:
// the node succeeded.
type failedAt string

// main is the workflow function.
func (f *naiveFlow) main(s naiveSurface, input history.Payload) (history.Payload, error) {
	f.handle(s)
	params, _ := valueOf(input).(map[string]any)
	f.outermost = &naiveFrame{def: f.def, node: f.def.Start, shared: map[string]any{}}
	f.inner = f.outermost
	s.yield()
	failed, err := f.flow(s, f.outermost, params)
	s.yield() // messages that came with the last event count
	f.ended = true
	switch {
	case err != nil:
		f.note(f.inner, "", 0, "canceled", "canceled")
		f.last = "canceled"
		return nil, err
	case failed != "":
		f.failed = string(failed)
		return nil, workflow.Fail(flow.FailureType, "%s", failed)
	}
	return encoded(f.outermost.shared), nil
}

// handle takes messages that write keys.
func (f *naiveFlow) handle(s naiveSurface) {
	f.began = true
	s.handle("set", func(l *letterOf) { s.dispatch(func(naiveSurface) { f.set(l) }) })
	s.handleUpdates("set", func(inner naiveSurface, l *letterOf) {
		if key, _ := written(l); key == "" && !l.accepted {
			f.n.emit("respond-update set %s rejected 0 failed:*errors.errorString", l.id)
			return
		}
		f.n.emit("respond-update set %s accepted 0 ok", l.id)
		f.set(l)
		f.n.emit("respond-update set %s completed 0 ok", l.id)
	})
}

// written is what a message writes. The key of one that does not fit is empty.
func written(l *letterOf) (key string, value any) {
	message, _ := valueOf(l.text).(map[string]any)
	key, _ = message["key"].(string)
	return key, message["value"]
}

func (f *naiveFlow) set(l *letterOf) {
	key, value := written(l)
	if key == "" {
		return
	}
	f.measure()
	f.meets("message", f.inner.def.Nodes[f.inner.node])
	f.outermost.shared[key] = value
}

// measure notes whether the log is long.
func (f *naiveFlow) measure() {
	f.long = f.long || f.longAfter > 0 && f.n.size+len(f.n.commands) >= f.longAfter
}

// continueAsNew ends the generation, and continues in the next one: before the next node, or inside
// the one that runs.
func (f *naiveFlow) continueAsNew(s naiveSurface, inside bool) error {
	if f.meets("continued before", f.inner.def.Nodes[f.inner.node]); inside {
		f.meets("continued inside", f.inner.def.Nodes[f.inner.node])
	}
	s.yield()
	if err := s.in.Err(); err != nil {
		return err
	}
	s.continueAsNew()
	f.long = false
	f.handle(s)
	s.yield()
	for range f.inner.depth {
		s.yield() // the nodes around it are entered again
	}
	if inside {
		s.yield()
	}
	return nil
}

// flow runs nodes from where a frame is. The error is the scope's.
func (f *naiveFlow) flow(s naiveSurface, fr *naiveFrame, params map[string]any) (failedAt, error) {
	for fr.node != "" {
		s.yield()
		f.steps++
		v := &naiveVisit{naiveFlow: f, s: s, frame: fr, step: f.steps, entered: s.now()}
		v.node = fr.def.Nodes[fr.node]
		v.params = maps.Clone(params)
		if v.params == nil {
			v.params = map[string]any{}
		}
		maps.Copy(v.params, v.node.Params)
		v.input = v.prepared()
		action, failed, err := v.perform()
		if err != nil {
			f.meets("canceled", v.node)
			return "", err
		}
		f.last = action
		next := fr.def.next(fr.node, action)
		switch {
		case next == "" && failed != "":
			f.meets("failed without an edge", v.node)
			return failed, nil
		case failed != "":
			f.meets("failed with an edge", v.node)
		default:
			f.meets("succeeded", v.node)
		}
		fr.node = next
		if f.measure(); f.long && next != "" {
			if err := f.continueAsNew(s, false); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// next is the node after one that ended with an action.
func (d *flowDef) next(from, action string) string {
	for _, wanted := range []string{action, "default"} {
		for _, e := range d.Edges {
			if e.From == from && e.Action == wanted {
				return e.To
			}
		}
	}
	return ""
}

func (v *naiveVisit) perform() (action string, failed failedAt, err error) {
	switch v.node.Kind {
	case "choice":
		return v.choice()
	case "parallel":
		return v.parallel()
	case "foreach":
		return v.foreach()
	case "subflow":
		return v.subflow()
	case "timer":
		return v.timer()
	case "wait_event":
		return v.waitEvent()
	case "approval":
		return v.approval()
	}
	return v.executor()
}

// scope is what references see. In prep, the input is that of the subflow around the node.
func (v *naiveVisit) scope(input any) scopeOf { return scopeOf{v.params, v.frame.shared, input} }

func (v *naiveVisit) prepared() any {
	prep := v.node.Prep
	switch {
	case len(prep.InputMap) > 0:
		input := map[string]any{}
		for name, from := range prep.InputMap { // order-insensitive: each name once
			input[name] = v.scope(v.frame.input).value(from)
		}
		return copied(input)
	case prep.InputKey != "":
		return copied(v.scope(v.frame.input).value(prep.InputKey))
	}
	return nil
}

// output writes a result to the shared state.
func (v *naiveVisit) output(whole, fields any) {
	if key := v.node.Post.OutputKey; key != "" {
		v.frame.shared[key] = copied(whole)
	}
	for key, path := range v.node.Post.OutputMap { // order-insensitive: each key once
		v.frame.shared[key] = copied(at(fields, path))
	}
}

// action is that of a node with this result.
func (v *naiveVisit) action(result any) string {
	if v.node.Post.ActionStatic != "" || v.node.Post.ActionKey == "" {
		return v.node.Post.ActionStatic
	}
	action, _ := at(result, v.node.Post.ActionKey).(string)
	return action
}

// note adds the row of a node, or of one of its calls.
func (f *naiveFlow) note(fr *naiveFrame, branch string, attempt int, status, action string) {
	f.rows = append(f.rows, rowText(append(fr.path(), fr.node), branch, attempt, status, action))
}

func rowText(path []string, branch string, attempt int, status, action string) string {
	return fmt.Sprintf("%s[%s] %d %s %s", strings.Join(path, "/"), branch, attempt, status, action)
}

func (v *naiveVisit) ends(action string, failed bool) {
	v.note(v.frame, "", 1+v.retried, statusOf(failed), action)
}

func statusOf(failed bool) string {
	if failed {
		return "error"
	}
	return "ok"
}

// path lists the subflow nodes around a frame.
func (fr *naiveFrame) path() []string {
	if fr.up == nil {
		return nil
	}
	return append(fr.up.path(), fr.up.node)
}

// place is where a node of the frame failed.
func (fr *naiveFrame) place() failedAt {
	return failedAt(strings.Join(append(fr.path(), fr.node), "/"))
}

// shown is what the run shows of itself, as text: in its summary, or whole.
func (f *naiveFlow) shown(whole bool) string {
	s := flow.State{Action: f.last, Steps: f.steps, Shared: map[string]json.RawMessage{}}
	for key, value := range f.outermost.shared { // order-insensitive: a map is made
		s.Shared[key] = json.RawMessage(encoded(value))
	}
	if !f.ended {
		s.Node, s.Path = f.inner.node, f.inner.path()
	}
	return shownFlow(s, whole)
}

// shownFlow is what counts of a state.
func shownFlow(s flow.State, whole bool) string {
	shared := "left out in part"
	if len(s.Omitted) == 0 && s.More == 0 {
		shared = canonical(encoded(s.Shared))
	}
	if !whole {
		return fmt.Sprintf("step %d, shared %s", s.Steps, shared)
	}
	place := strings.Join(append(s.Path, s.Node), "/")
	return fmt.Sprintf("step %d at %s after %q, shared %s", s.Steps, place, s.Action, shared)
}

func encoded(value any) history.Payload {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// copied is a value that shares nothing with another.
func copied(value any) any { return valueOf(encoded(value)) }
