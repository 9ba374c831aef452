package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// In some seeds, some programs are JSON flows. They are published as other definitions are
// (definitions.go). Their parents and children are flows or Go programs. Callers write keys of their
// shared state. A second implementation (naive_flow.go) says what each record must have.

// kindOfFlows is the kind of their definitions.
const kindOfFlows = "flow"

// flowDef is a flow. Callers publish its JSON.
type flowDef struct {
	Start string               `json:"start"`
	Nodes map[string]*flowNode `json:"nodes"`
	Edges []flowEdge           `json:"edges,omitempty"`
}

type flowEdge struct {
	From   string `json:"from"`
	Action string `json:"action"`
	To     string `json:"to"`
}

type flowNode struct {
	Kind          string         `json:"kind"`
	Service       string         `json:"service,omitempty"`
	Services      []string       `json:"parallel_services,omitempty"`
	Workflow      string         `json:"workflow,omitempty"`
	Subflow       *flowDef       `json:"subflow,omitempty"`
	Params        map[string]any `json:"params,omitempty"`
	Prep          flowPrep       `json:"prep,omitzero"`
	Post          flowPost       `json:"post,omitzero"`
	Cases         []flowCase     `json:"choice_cases,omitempty"`
	DefaultAction string         `json:"default_action,omitempty"`
	MaxRetries    int            `json:"max_retries,omitempty"`
	Wait          int            `json:"wait_ms,omitempty"`
	CallTimeout   int            `json:"call_timeout_ms,omitempty"`
	Mode          string         `json:"parallel_mode,omitempty"`
	MaxParallel   int            `json:"max_parallel,omitempty"`
	Strategy      string         `json:"failure_strategy,omitempty"`
	Tolerated     int            `json:"tolerated_failure_count,omitempty"`
	Percentage    float64        `json:"tolerated_failure_percentage,omitempty"`
}

type flowPrep struct {
	InputKey string            `json:"input_key,omitempty"`
	InputMap map[string]string `json:"input_map,omitempty"`
}

type flowPost struct {
	OutputKey    string            `json:"output_key,omitempty"`
	OutputMap    map[string]string `json:"output_map,omitempty"`
	ActionStatic string            `json:"action_static,omitempty"`
	ActionKey    string            `json:"action_key,omitempty"`
}

type flowCase struct {
	Action string         `json:"action"`
	Expr   map[string]any `json:"expr"`
}

// source is the text of a version. All versions are one flow: see interpreters.
func (d *flowDef) source(version int) string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(text) + strings.Repeat("\n", version)
}

// inputOfFlows is what each run of a flow begins with.
const inputOfFlows = `{"list": [1, 2, {"action": "go"}], "n": 5, "zero": 0, "yes": true, "mul": 1}`

// input is what a run of the program begins with.
func (p *program) input() history.Payload {
	if p.Flow != nil {
		return history.Payload(inputOfFlows)
	}
	return history.Payload("0")
}

// flowGenerator draws one flow.
type flowGenerator struct {
	random *rand.Rand
	child  *program // to run as a subflow; nil: there is none
	starts int      // how many nodes may still run it
	waits  bool     // it begins with a node that waits, so that messages make its log long
}

// drawFlows has some of the programs be flows: one at least.
func drawFlows(programs []*program, long bool, r *rand.Rand) {
	must := 0 // that callers start, as a rule
	if r.IntN(3) == 0 {
		must = r.IntN(len(programs))
	}
	for i, p := range slices.Backward(programs) {
		if i != must && r.IntN(2) == 0 {
			continue
		}
		g := &flowGenerator{random: r, starts: 2, waits: long && r.IntN(2) == 0}
		if i+1 < len(programs) && programs[i+1].Generations < 5 { // else it has many generations
			g.child = programs[i+1]
		}
		*p = program{Name: p.Name, Generations: 1, Flow: g.flow(0)}
	}
}

// knowFlows has Go programs start their children that are flows as such.
func knowFlows(programs []*program) {
	flows := map[string]bool{}
	for _, p := range programs {
		flows[p.Name] = p.Flow != nil
	}
	for _, p := range programs {
		p.each(func(n *node) {
			n.Flow = n.Verb == doChild && flows[n.Target]
			if n.Verb != doAll && n.Verb != doAny {
				return
			}
			for _, inside := range n.Inside[0] { // their futures are of one type
				if inside.Verb == doChild && flows[inside.Target] {
					inside.Verb, inside.Target = doStep, ""
				}
			}
		})
	}
}

func (g *flowGenerator) pick(choices ...string) string {
	return choices[g.random.IntN(len(choices))]
}

func (g *flowGenerator) some(of int) bool { return g.random.IntN(of) == 0 }

// flow draws a flow that ends, unless it waits for people: an edge leads back only from an executor
// with a worker that now and then says so.
func (g *flowGenerator) flow(nested int) *flowDef {
	count := 1 + g.random.IntN(3)
	if nested == 0 {
		count += 1 + g.random.IntN(6)
	}
	d := &flowDef{Start: "n0", Nodes: map[string]*flowNode{}}
	key := func(i int) string { return fmt.Sprintf("n%d", i) }
	for i := range count {
		n := g.node(nested)
		if i == 0 && g.waits && nested == 0 {
			n = g.awaiting()
		}
		d.Nodes[key(i)] = n
		if i > 0 { // so that each can be reached
			d.connect(key(i-1), g.pick("go", "default", "default", "default"), key(i))
		}
		says := n.Post.ActionStatic == "" && n.Post.ActionKey == "action"
		if n.Kind == "executor" && says && !g.some(4) {
			d.connect(key(i), "again", key(g.random.IntN(i+1)))
		}
	}
	for range g.random.IntN(4) {
		from := g.random.IntN(count)
		to := ""
		if from+1 < count && !g.some(3) {
			to = key(from + 1 + g.random.IntN(count-from-1))
		}
		d.connect(key(from), g.pick("bad", "rejected", "approved", "timeout", "x", "default"), to)
	}
	return d
}

// connect adds an edge, unless the node has one for the action.
func (d *flowDef) connect(from, action, to string) {
	same := func(e flowEdge) bool { return e.From == from && e.Action == action }
	if !slices.ContainsFunc(d.Edges, same) {
		d.Edges = append(d.Edges, flowEdge{from, action, to})
	}
}

var flowKinds = []string{"choice", "parallel", "subflow", "timer", "foreach", "wait_event", "approval",
	"executor", "executor"}

func (g *flowGenerator) node(nested int) *flowNode {
	n := &flowNode{Kind: flowKinds[g.random.IntN(len(flowKinds))]}
	g.data(n)
	switch n.Kind {
	case "choice":
		n.Cases = append(n.Cases, flowCase{"bad", g.expression(1)}, flowCase{"go", g.expression(2)})
		n.DefaultAction = g.pick("x", "go")
	case "parallel":
		n.Services = []string{"a", "b", g.pick("a", "go:c")}
		g.retries(n)
		g.strategy(n)
	case "subflow":
		g.subflow(n, nested)
	case "timer":
		n.Params = map[string]any{"delay_ms": []int{0, 5, 3000, 1_200_000}[g.random.IntN(4)]}
	case "foreach":
		n.Service = g.pick("a", "go:c")
		n.Prep = flowPrep{InputKey: g.pick("$params.list", "$params.list", "a", "$params.n")}
		if g.some(2) {
			n.Params = map[string]any{"mul": 2}
		}
		g.retries(n)
		g.strategy(n)
	case "wait_event":
		awaited := g.pick("$shared.a", "$shared.go.now", "$shared.b", "$params.yes")
		n.Params = map[string]any{"signal_key": awaited}
		if g.waiting(n); g.some(3) {
			n.MaxRetries, n.Wait, n.Strategy = 1, 500, g.pick("", "retry", "ignore_errors")
		}
	case "approval":
		n.Params = map[string]any{"approval_key": g.pick("$shared.a", "$shared.b", "$params.yes")}
		g.waiting(n)
	default:
		n.Service = g.pick("a", "b", "go:c")
		g.retries(n)
	}
	return n
}

// data draws where the input of a node comes from, and where its result goes.
func (g *flowGenerator) data(n *flowNode) {
	if g.some(4) {
		from := g.pick("a", "$shared.b", "$input")
		n.Prep.InputMap = map[string]string{"p": "$params.n", "q": from}
	} else {
		n.Prep.InputKey = g.pick("", "$params.list", "$shared", "$input", "a", "b.n[0]",
			"$params.n")
	}
	n.Post.OutputKey, n.Post.ActionStatic = g.pick("a", "b", "c", ""), g.pick("go", "", "", "bad")
	n.Post.ActionKey = g.pick("action", "action", "result[0].action", "signal", "approval")
	if g.some(4) {
		n.Post.OutputMap = map[string]string{"d": "n[0]", "e": "action"}
	}
}

func (g *flowGenerator) retries(n *flowNode) {
	if g.some(2) {
		n.MaxRetries, n.Wait = 1+g.random.IntN(2), []int{0, 300}[g.random.IntN(2)]
	}
	if g.some(3) {
		n.CallTimeout = 5000
	}
}

func (g *flowGenerator) strategy(n *flowNode) {
	n.Strategy = g.pick("fail_fast", "ignore_errors", "collect_errors", "")
	switch tolerates := g.random.IntN(4); {
	case n.Strategy == "ignore_errors":
	case tolerates == 0:
		n.Tolerated = 1
	case tolerates == 1:
		n.Percentage = 40
	}
	if n.Mode = g.pick("concurrent", "concurrent", "sequential"); g.some(2) {
		n.MaxParallel = 2
	}
}

func (g *flowGenerator) waiting(n *flowNode) {
	if !g.some(4) {
		n.Params["timeout_ms"] = []int{9000, 60_000}[g.random.IntN(2)]
	}
}

// awaiting is a node that waits for a minute, or for longer.
func (g *flowGenerator) awaiting() *flowNode {
	n := &flowNode{Kind: g.pick("wait_event", "approval", "timer")}
	switch g.data(n); n.Kind {
	case "timer":
		n.Params = map[string]any{"delay_ms": 120_000}
	case "wait_event":
		n.Params = map[string]any{"signal_key": "$shared.go.now", "timeout_ms": 60_000}
	default:
		n.Params = map[string]any{"approval_key": "$shared.never", "timeout_ms": 60_000}
	}
	return n
}

func (g *flowGenerator) subflow(n *flowNode, nested int) {
	if g.some(2) {
		n.MaxRetries, n.Wait = 1, []int{0, 300}[g.random.IntN(2)]
	}
	switch {
	case g.child != nil && g.starts > 0 && (nested > 1 || g.some(2)):
		g.starts--
		n.Workflow = g.child.Name
		if n.Prep = (flowPrep{}); g.child.Flow == nil {
			n.Prep.InputKey = "$params.zero"
		}
	case nested > 1:
		n.Kind, n.MaxRetries, n.Wait = "timer", 0, 0
	default:
		n.Subflow = g.flow(nested + 1)
		n.Strategy = g.pick("", "ignore_errors")
	}
}

func (g *flowGenerator) expression(depth int) map[string]any {
	reference := g.pick("$shared.a", "$shared.b", "$params.n", "$input", "$shared.a.n[0]")
	switch choice := g.random.IntN(6); {
	case choice == 0 && depth > 0:
		return map[string]any{"not": g.expression(depth - 1)}
	case choice == 1 && depth > 0:
		operator := g.pick("and", "or")
		return map[string]any{operator: []any{g.expression(depth - 1), g.expression(depth - 1)}}
	case choice < 4:
		return map[string]any{"exists": reference}
	}
	operator, value := g.pick("eq", "ne"), []any{5, true, "go"}[g.random.IntN(3)]
	return map[string]any{operator: []any{reference, value}}
}

// without has nodes that a smaller case leaves out do nothing: their edges lead on.
func (d *flowDef) without(prefix string, ids map[string]bool) {
	for key, n := range d.Nodes { // order-insensitive: each is changed alone
		if ids[prefix+"."+key] {
			d.Nodes[key] = &flowNode{Kind: "timer", Post: flowPost{ActionStatic: "go"}}
		} else if n.Subflow != nil {
			n.Subflow.without(prefix+"."+key, ids)
		}
	}
}

// each goes through all nodes of a flow.
func (d *flowDef) each(do func(*flowNode)) {
	for _, n := range d.Nodes { // order-insensitive: numbers are added
		do(n)
		if n.Subflow != nil {
			n.Subflow.each(do)
		}
	}
}

// places lists the nodes of a flow, as a case names them.
func (d *flowDef) places(prefix string) (places []string) {
	for key, n := range d.Nodes { // order-insensitive: the list is sorted
		places = append(places, prefix+"."+key)
		if n.Subflow != nil {
			places = append(places, n.Subflow.places(prefix+"."+key)...)
		}
	}
	slices.Sort(places)
	return places
}

// served is what a service answers one call, and how its worker behaves meanwhile.
type served struct {
	node   *node
	result history.Payload
	err    error
}

// goActivity is the Go activity that flows call as go:c.
const goActivity = "c"

// isServed says whether an activity is a call of a service.
func isServed(name string) bool { return name == goActivity || strings.HasPrefix(name, flow.HTTP) }

// serves says how a call of a service ends: always in the same way, however often it is performed.
func serves(name, key string) served {
	hash := fnv.New32a()
	fmt.Fprint(hash, name, key)
	sum := hash.Sum32()
	s := served{node: &node{Verb: doCall, ID: key, Beats: int(sum >> 8 % 7 / 6)}}
	action := []string{"go", "go", "again", "bad"}[sum>>16%4]
	answer := fmt.Sprintf(`{"action": %q, "n": [%d, "x"]}`, action, sum>>4%6)
	switch sum % 24 {
	case 0, 1, 2:
		s.err = errors.New("failed")
	case 3:
		s.err = activity.NonRetryable(errors.New("failed for good"))
	case 4:
		s.node.Hangs = true
	}
	if name == goActivity {
		s.result = history.Payload(answer)
		return s
	}
	switch sum % 24 {
	case 5:
		s.result = history.Payload(`{"result": null, "error": "refused"}`)
	case 6:
		s.result = history.Payload(`[1, 2]`)
	case 7:
		s.result = history.Payload(`{"result": null}`)
	default:
		s.result = history.Payload(`{"result": ` + answer + `}`)
	}
	return s
}

// serve performs a call of a service.
func (p *process) serve(ctx context.Context, name string) (history.Payload, error) {
	s := serves(name, activity.InfoOf(ctx).IdempotencyKey)
	if err := p.work(ctx, s.node, false); err != nil {
		return nil, err
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.result, nil
}

// interpretFlow makes the workflow of a flow that was published.
func (s *simulation) interpretFlow(name, source string) (workflow.Definition, error) {
	d, err := flow.Parse([]byte(source))
	if err != nil {
		return nil, err
	}
	d.ContinueAfter(s.limits.long)
	return d.Workflow(name), nil
}

// forFlows gives an engine what flows call.
func (p *process) forFlows(config *engine.Config) {
	http := func(ctx context.Context, work engine.Work) (history.Payload, error) {
		return p.serve(ctx, flow.HTTP+work.Name)
	}
	config.Performers = map[string]engine.Performer{"http": http}
	called := activity.Declare[history.Payload, history.Payload](goActivity)
	perform := func(ctx context.Context, _ history.Payload) (history.Payload, error) {
		return p.serve(ctx, goActivity)
	}
	config.Definitions = append(config.Definitions, called.Implement(perform))
}

// canonical is a value's JSON in one form, whatever wrote it.
func canonical(text history.Payload) string {
	again, err := json.Marshal(valueOf(text))
	if err != nil {
		panic(err)
	}
	return string(again)
}

// valueOf decodes JSON. Nothing is null.
func valueOf(text history.Payload) (value any) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &value); err != nil {
		panic(fmt.Sprintf("not JSON: %s", text))
	}
	return value
}

// writtenKeys and writtenValues are what callers write.
var (
	writtenKeys   = []string{"a", "go", "b", "a", ""}
	writtenValues = []string{`true`, `{"now": [1]}`, `false`, `"approved"`, `3`, `null`, `""`}
)

// write is the message that writes a key. One with an empty key is refused.
func (a act) write() string {
	key, value := writtenKeys[a.value%len(writtenKeys)], writtenValues[a.value%len(writtenValues)]
	return fmt.Sprintf(`{"key":%q,"value":%s}`, key, value)
}

// toFlow is what a caller does to a flow in place of what it would do to a Go program.
func (d doing) toFlow() doing {
	switch d {
	case toSignalS, toSignalH:
		return toSet
	case toUpdate:
		return toSetNow
	default:
		return d
	}
}
