package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/reprise-run/reprise/core/flow/expr"
	"github.com/reprise-run/reprise/core/workflow"
)

// visit is one node's turn.
type visit struct {
	*run
	ctx    workflow.Context
	node   *Node
	frame  *frame
	params object // the task's, with the node's over them
	values expr.Values

	paramsText json.RawMessage // params as JSON, once it was needed

	reads int // bytes that prep and post have read
}

// pay counts bytes that prep or post is about to read, and says whether that is not too much. A
// path to the end of a large value reads all of it, and a node may have very many paths.
func (v *visit) pay(bytes int) bool {
	if v.reads > mostRead-bytes {
		v.reads = mostRead + 1
		return false
	}
	before := v.reads / readsPerTurn
	v.reads += bytes
	v.pace.work += bytes
	if v.reads/readsPerTurn > before {
		workflow.Yield(v.ctx)
	}
	return true
}

// mostRead is how many bytes prep and post of one node read at most: some half a second.
// After so many of them, it gives up its turn: a unit must not keep that for seconds.
const (
	mostRead     = 128 << 20
	readsPerTurn = 16 << 20
)

// tooMuch is the failure of a node with a prep or a post that reads too much.
func tooMuch() *NodeFailure {
	return failed(
		"prep and post would read more than %d bytes: a path into a large value reads it from its "+
			"start, so use fewer paths, or smaller values", mostRead)
}

// outcome is how a node ended.
type outcome struct {
	action  string
	failure *NodeFailure // nil: it succeeded
}

// enter runs a node, from its beginning or from where an earlier generation left it.
func (r *run) enter(ctx workflow.Context, n *Node, f *frame, params object) (outcome, error) {
	workflow.Yield(ctx) // messages that have come are handled before the node looks
	if err := r.pace.rest(ctx); err != nil {
		return outcome{}, err
	}
	v := &visit{run: r, ctx: ctx, node: n, frame: f, params: params.with(n.Params)}
	if len(n.Params) > 0 {
		r.pace.work += len(v.params) * workOfParam
	}
	r.node, r.waitsFor = n, ""
	v.values = expr.Values{Params: v.params, Shared: f.Shared, Input: f.Input}
	if f.Now == nil {
		r.Steps++
		f.Step = r.Steps
		f.Now = &current{Input: v.input(), Entered: workflow.Now(ctx)}
	}
	v.values.Input = f.Now.Input
	r.publish(ctx)
	if v.reads > mostRead {
		return v.end(nil, "", tooMuch())
	}
	return v.perform()
}

// perform runs the node as its kind says.
func (v *visit) perform() (outcome, error) {
	switch v.node.Kind {
	case Choice:
		return v.choice()
	case Parallel:
		return v.parallel()
	case Foreach:
		return v.foreach()
	case Subflow:
		return v.subflow()
	case Timer:
		return v.timer()
	case WaitEvent:
		return v.waitEvent()
	case Approval:
		return v.approval()
	default:
		return v.executor()
	}
}

// input is what prep selects. In prep, $input is the input of the subflow that the node is in.
func (v *visit) input() json.RawMessage {
	prep := v.node.Prep
	switch {
	case len(prep.Map) > 0:
		input := make(object, len(prep.Map))
		for _, name := range slices.Sorted(maps.Keys(prep.Map)) {
			input[name] = v.read(prep.Map[name].reference)
		}
		return input.JSON()
	case prep.Key != nil:
		return v.read(prep.Key.reference)
	}
	return nil
}

// paramsJSON is what services are given as params.
func (v *visit) paramsJSON() json.RawMessage {
	if v.paramsText == nil {
		v.paramsText = v.params.JSON()
		v.pace.work += len(v.paramsText)
	}
	return v.paramsText
}

// read gives the value of a reference, which counts as work.
func (v *visit) read(reference expr.Reference) json.RawMessage {
	if !v.pay(reference.Cost(v.values)) {
		return json.RawMessage("null")
	}
	return orNull(reference.In(v.values))
}

// output writes a result to the shared state (S4.11). whole is what output_key gets, and fields is
// the object that output_map reads.
func (v *visit) output(whole, fields json.RawMessage) *NodeFailure {
	post := v.node.Post
	v.pace.work += len(whole)
	if post.OutputKey != "" {
		if err := v.frame.Shared.write(post.OutputKey, whole); err != nil {
			return failed("%v", err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(post.output)) {
		if !v.pay(post.output[key].Cost(fields)) {
			return tooMuch()
		}
		if err := v.frame.Shared.write(key, post.output[key].In(fields)); err != nil {
			return failed("%v", err)
		}
	}
	return nil
}

// action is that of a node with this result (S4.12).
func (v *visit) action(result json.RawMessage) string {
	if v.node.Post.ActionStatic != "" || v.node.Post.ActionKey == "" {
		return v.node.Post.ActionStatic
	}
	return text(v.node.Post.action.In(result))
}

// text is the text of a JSON string; empty for all else.
func text(value json.RawMessage) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	s, err := decode[string](value)
	if err != nil {
		return ""
	}
	return s
}

// end notes the row of a node that has ended, and gives its outcome.
func (v *visit) end(result json.RawMessage, action string, failure *NodeFailure) (outcome, error) {
	row := v.row(v.ctx, RowOK, 1+v.frame.Now.Retries)
	row.Input, row.Result, row.Action = v.frame.Now.Input, result, action
	if failure != nil {
		row.Status, row.Error = RowError, failure.Error
	}
	v.note(row)
	return outcome{action, failure}, nil
}

// row begins a row of the node.
func (v *visit) row(ctx workflow.Context, status string, attempt int) Row {
	return Row{Node: v.node.Key, Path: path(v.frame), Status: status, Attempt: attempt,
		Started: v.frame.Now.Entered, Finished: workflow.Now(ctx)}
}

// wrap gives a value as the member of an object.
func wrap(name string, value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	return json.RawMessage("{" + strconv.Quote(name) + ":" + string(value) + "}")
}
