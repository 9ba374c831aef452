package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/flow/expr"
)

var (
	calling = []Kind{Executor, Parallel, Foreach}
	fanning = []Kind{Parallel, Foreach}
	failing = []Kind{Executor, Parallel, Foreach, Subflow, WaitEvent}
)

// fields are those of nodes, with the kinds that have them. nil: all.
var fields = map[string][]Kind{
	"kind": nil, "name": nil, "description": nil, "choice_key": nil, "exec_type": nil,
	"params": nil, "prep": nil, "post": nil,

	"service":           {Executor, Foreach},
	"parallel_services": {Parallel},
	"workflow":          {Subflow},
	"subflow":           {Subflow},
	"choice_cases":      {Choice},
	"default_action":    {Choice},

	"max_retries":      failing,
	"wait_ms":          failing,
	"call_timeout_ms":  calling,
	"max_attempts":     calling,
	"attempt_delay_ms": calling,
	"weighted_by_load": calling,

	"parallel_mode":                fanning,
	"max_parallel":                 fanning,
	"failure_strategy":             {Parallel, Foreach, Subflow, WaitEvent},
	"tolerated_failure_count":      fanning,
	"tolerated_failure_percentage": fanning,
}

const (
	mostRetries  = 1000
	mostAttempts = 1000
	// MaxCalls is how many calls one foreach or parallel makes at most.
	MaxCalls = 10_000
)

// readField reads a field that the node's kind has. Its value is not null.
func (p *parser) readField(n *Node, name string, v value, at *place, nested int) {
	switch name {
	case "name", "description", "choice_key": // they say nothing that the flow needs
		p.string(v, at)
	case "exec_type":
		p.readExecType(v, at)
	case "params":
		p.readParams(n, v, at)
	case "prep":
		p.readPrep(n, v, at)
	case "post":
		p.readPost(n, v, at)
	case "service":
		p.readService(n, v, at)
	case "parallel_services":
		p.readServices(n, v, at)
	case "workflow":
		p.readWorkflow(n, v, at)
	case "subflow":
		p.readSubflow(n, v, at, nested)
	case "choice_cases":
		p.readCases(n, v, at)
	case "default_action":
		n.DefaultAction = p.string(v, at)
	default:
		p.readSetting(n, name, v, at)
	}
}

// readSetting reads a field that is one number, word or boolean.
func (p *parser) readSetting(n *Node, name string, v value, at *place) {
	switch name {
	case "max_retries":
		n.MaxRetries = p.int(v, at, 0, mostRetries)
	case "wait_ms":
		n.Wait = p.duration(v, at)
	case "call_timeout_ms":
		n.CallTimeout = p.duration(v, at)
	case "max_attempts":
		n.MaxAttempts = p.int(v, at, 0, mostAttempts)
	case "attempt_delay_ms":
		n.AttemptDelay = p.duration(v, at)
	case "weighted_by_load":
		n.WeightedByLoad = p.bool(v, at)
	case "parallel_mode":
		n.Concurrent = p.string(v, at) == "concurrent" // any other mode is sequential
	case "max_parallel":
		n.MaxParallel = p.int(v, at, -1_000_000_000, 1_000_000_000)
	case "failure_strategy":
		p.readStrategy(n, v, at)
	case "tolerated_failure_count":
		n.ToleratedCount = p.int(v, at, 0, MaxCalls)
	case "tolerated_failure_percentage":
		n.ToleratedPercentage = p.float(v, at, 0, 100)
	}
}

func (p *parser) readStrategy(n *Node, v value, at *place) {
	n.Strategy = Strategy(p.oneOf(v, at, string(FailFast), string(CollectErrors),
		string(IgnoreErrors), "continue", string(RetryAgain)))
	if n.Strategy == "continue" {
		n.Strategy = IgnoreErrors
	}
	if n.Strategy == RetryAgain && slices.Contains(fanning, n.Kind) {
		p.add(at,
			"the strategy retry is not for a %s: \"max_retries\" repeats each call that failed",
			n.Kind)
	}
}

// refused are fields of later forms of this format, with the remedy.
var refused = map[string]string{
	"func":           "register a Go activity, and call it as \"service\": \"go:NAME\"",
	"script":         "let a worker serve the script, and name its service in \"service\"",
	"parallel_execs": "list the services in \"parallel_services\"; a Go activity is \"go:NAME\"",
	"foreach_execs":  "use one \"service\" for all items; it can be a Go activity, \"go:NAME\"",
	"subflow_execs": "write the calls as nodes of \"subflow\", or name a Go workflow in " +
		"\"workflow\"",
}

// node reads one node. Its kind decides which fields it has.
func (p *parser) node(key string, v value, at *place, nested int) *Node {
	n := &Node{Key: key, Kind: Executor}
	if v.kind != '{' {
		p.add(at,
			"a node is an object such as {\"kind\": \"executor\", \"service\": \"sum\"}; got %s", v)
		return n
	}
	known := true
	for _, m := range v.members {
		if m.name == "kind" {
			n.Kind, known = p.kind(m.value, at.at("kind"))
		}
	}
	for _, m := range v.members {
		if p.full() {
			break
		}
		p.field(n, m, at.at(m.name), nested, known)
	}
	if known {
		p.complete(n, at)
	}
	return n
}

func (p *parser) kind(v value, at *place) (Kind, bool) {
	text := p.string(v, at)
	switch {
	case v.kind != '"' && v.kind != 'n':
		return Executor, false
	case text == "" || text == "remote":
		return Executor, true
	case !slices.Contains(Kinds, Kind(text)):
		p.unknown(at, text, strings.Split(list(Kinds), ", "),
			"there is no kind %q: use one of %s", cut(text), list(Kinds))
		return Executor, false
	}
	return Kind(text), true
}

// field reads one field. If the node's kind is not known, only fields that all nodes have are read.
func (p *parser) field(n *Node, m member, at *place, nested int, known bool) {
	if remedy, is := refused[m.name]; is {
		if !m.value.zero() {
			p.add(at, "the field %q is not supported: %s", m.name, remedy)
		}
		return
	}
	kinds, is := fields[m.name]
	switch {
	case !is:
		p.unknownField(at, m, fieldsOf(n.Kind), "a node of kind "+string(n.Kind))
	case kinds != nil && !known:
	case kinds != nil && !slices.Contains(kinds, n.Kind):
		if !m.value.zero() {
			p.add(at,
				"a node of kind %s has no field %q, only %s: remove it",
				n.Kind, m.name, list(kinds))
		}
	case m.value.kind != 'n':
		p.readField(n, m.name, m.value, at, nested)
	}
}

// list writes kinds for a message.
func list(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}

// fieldsOf lists the fields of a kind in order.
func fieldsOf(kind Kind) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if kinds := fields[name]; kinds == nil || slices.Contains(kinds, kind) {
			names = append(names, name)
		}
	}
	return names
}

// complete checks what concerns several fields of a node.
func (p *parser) complete(n *Node, at *place) {
	switch n.Kind {
	case Executor, Foreach:
		if n.Service == "" {
			p.add(at, "a node of kind %s needs \"service\", the name of what it calls", n.Kind)
		}
	case Subflow:
		if (n.Subflow == nil) == (n.Workflow == "") {
			p.add(at,
				"a subflow needs either \"subflow\", with a flow, or \"workflow\", with the name "+
					"of a published flow or a Go workflow")
		}
	case Parallel:
		p.servicesInParams(n, at.at("params").at("services"))
	}
	if n.Strategy == RetryAgain && n.MaxRetries == 0 {
		p.add(at.at("failure_strategy"),
			"the strategy retry needs \"max_retries\", the number of further tries")
	}
	if n.Strategy == IgnoreErrors && (n.ToleratedCount > 0 || n.ToleratedPercentage > 0) {
		p.add(at.at("failure_strategy"),
			"ignore_errors tolerates every failure: remove tolerated_failure_count and "+
				"tolerated_failure_percentage, or use collect_errors")
	}
}

// servicesInParams checks the services of a parallel that its own params name.
func (p *parser) servicesInParams(n *Node, at *place) {
	text, has := n.Params["services"]
	if !has || len(n.Services) > 0 {
		return
	}
	list, err := decode[[]string](text)
	if err != nil {
		p.add(at,
			"the services of a parallel are an array of strings, such as [\"sum\", \"go:charge\"]")
	}
	for i, service := range list {
		p.service(service, at.at(strconv.Itoa(i)))
	}
}

func (p *parser) readExecType(v value, at *place) {
	switch text := p.string(v, at); text {
	case "", "http":
	case "func", "local_func":
		p.add(at, "the exec_type %q is not supported: %s", text, refused["func"])
	case "script", "local_script":
		p.add(at, "the exec_type %q is not supported: %s", text, refused["script"])
	default:
		p.add(at,
			"the exec_type %q is not supported: remove it, since the name in \"service\" says "+
				"what is called: a worker's service, or \"go:NAME\"", cut(text))
	}
}

func (p *parser) readParams(n *Node, v value, at *place) {
	members := p.object(v, at)
	n.Params = make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		n.Params[m.name] = m.value.raw(p.source)
	}
	name := map[Kind]string{WaitEvent: "signal_key", Approval: "approval_key"}[n.Kind]
	if awaited := n.Params[name]; awaited != nil {
		p.reference(text(awaited), at.at(name))
	}
}

// reference checks the reference that a waiting node looks at.
func (p *parser) reference(name string, at *place) {
	if _, is, err := expr.ParseReference(name); err != nil {
		p.add(at, "%v", err)
	} else if !is {
		p.unknown(at, firstName(name), expr.Roots,
			"a waiting node needs a reference, such as \"$shared.approved\"; got %q, which would "+
				"not wait", cut(name))
	}
}

// firstName is what a reference begins with.
func firstName(text string) string {
	name, _, _ := strings.Cut(text, ".")
	return name
}

func (p *parser) readPrep(n *Node, v value, at *place) {
	for _, m := range p.object(v, at) {
		switch below := at.at(m.name); m.name {
		case "input_key":
			if text := p.string(m.value, below); text != "" {
				source := p.from(text, below)
				n.Prep.Key = &source
			}
		case "input_map":
			for _, entry := range p.object(m.value, below) {
				if n.Prep.Map == nil {
					n.Prep.Map = map[string]Source{}
				}
				at := below.at(entry.name)
				n.Prep.Map[entry.name] = p.from(p.string(entry.value, at), at)
			}
		default:
			p.unknownField(below, m, []string{"input_key", "input_map"}, "prep")
		}
	}
}

// from reads where a value comes from: a reference, or a path in the shared state.
func (p *parser) from(text string, at *place) Source {
	reference, is, err := expr.ParseReference(text)
	if !is && err == nil {
		switch {
		case text == "":
			p.add(at, "the path is empty: write $shared for the whole shared state")
		case text[0] == '$':
			p.unknown(at, firstName(text), expr.Roots,
				"a reference begins with one of %s; got %q",
				strings.Join(expr.Roots, ", "), cut(text))
		default:
			reference = expr.Reference{Root: expr.Shared}
			reference.Path, err = expr.ParsePath(text)
		}
	}
	if err != nil {
		p.add(at, "%v", err)
	}
	return Source{Text: text, reference: reference}
}

func (p *parser) readPost(n *Node, v value, at *place) {
	for _, m := range p.object(v, at) {
		switch below := at.at(m.name); m.name {
		case "output_key":
			n.Post.OutputKey = p.target(p.string(m.value, below), below)
		case "output_map":
			p.readOutputs(n, m.value, below)
		case "action_static":
			n.Post.ActionStatic = p.string(m.value, below)
		case "action_key":
			n.Post.ActionKey = p.string(m.value, below)
			n.Post.action = p.path(n.Post.ActionKey, below)
		default:
			p.unknownField(below, m,
				[]string{"output_key", "output_map", "action_static", "action_key"}, "post")
		}
	}
}

func (p *parser) readOutputs(n *Node, v value, at *place) {
	n.Post.OutputMap, n.Post.output = map[string]string{}, map[string]expr.Path{}
	for _, m := range p.object(v, at) {
		below := at.at(m.name)
		if m.name == "" {
			p.add(below, "the key is empty: name the key of the shared state that gets the field")
		}
		key, path := p.target(m.name, below), p.string(m.value, below)
		n.Post.OutputMap[key], n.Post.output[key] = path, p.path(path, below)
	}
}

// path reads a path inside a result.
func (p *parser) path(text string, at *place) expr.Path {
	path, err := expr.ParsePath(text)
	if err != nil {
		p.add(at, "%v", err)
	}
	return path
}

// target checks a key that a result is written to.
func (p *parser) target(key string, at *place) string {
	switch {
	case len(key) > longestKey:
		p.add(at,
			"a key of the shared state has at most %d bytes, this one has %d", longestKey, len(key))
	case key == runtimeKey:
		p.add(at, "the key %q belongs to the engine: use another name", runtimeKey)
	case strings.HasPrefix(key, "$"):
		p.add(at,
			"a result is written to a key of the shared state, which has no $: write %q",
			cut(strings.TrimPrefix(strings.TrimPrefix(key, "$shared."), "$")))
	}
	return key
}

func (p *parser) readService(n *Node, v value, at *place) {
	n.Service = p.string(v, at)
	if n.Service != "" {
		p.service(n.Service, at)
	}
}

func (p *parser) readServices(n *Node, v value, at *place) {
	n.Services = p.strings(v, at)
	if len(n.Services) > MaxCalls {
		p.add(at, "a parallel calls at most %d services; got %d", MaxCalls, len(n.Services))
		return
	}
	for i, service := range n.Services {
		if p.full() {
			return
		}
		p.service(service, at.at(strconv.Itoa(i)))
	}
}

// service checks the name of a service.
func (p *parser) service(name string, at *place) {
	if problem := invalidService(name); problem != "" {
		p.add(at, "%s", problem)
	}
}

// invalidService names the mistake in the name of a service; empty if there is none.
func invalidService(name string) string {
	for _, prefix := range []string{"process:", "lambda:", "cloudrun:"} {
		if strings.HasPrefix(name, prefix) {
			return fmt.Sprintf(
				"the executor %q is not available yet: use a worker's service, or a Go activity "+
					"\"go:NAME\"", strings.TrimSuffix(prefix, ":"))
		}
	}
	if !plainName(name) {
		return "the name of a service has no control characters"
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(name, HTTP), Go)
	if most := MaxName - len(HTTP); bare == "" || len(bare) > most {
		return fmt.Sprintf(
			"the name of a service has 1 to %d bytes, this one has %d", most, len(bare))
	}
	return ""
}

// plainName says whether a name can be shown as it is, as the engine asks of names.
func plainName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError
	})
}

func (p *parser) readWorkflow(n *Node, v value, at *place) {
	if n.Workflow = p.string(v, at); !plainName(n.Workflow) {
		p.add(at, "the name of a workflow has no control characters")
	}
	if len(n.Workflow) > MaxName {
		p.add(at,
			"the name of a workflow has at most %d bytes, this one has %d",
			MaxName, len(n.Workflow))
	}
}

func (p *parser) readSubflow(n *Node, v value, at *place, nested int) {
	if !v.zero() {
		n.Subflow = p.flow(v, at, nested+1)
	}
}

func (p *parser) readCases(n *Node, v value, at *place) {
	if v.kind != '[' {
		p.add(at,
			"\"choice_cases\" is an array of cases such as {\"action\": \"a\", \"expr\": "+
				"{\"eq\": [\"$params.kind\", \"a\"]}}; got %s", v)
	}
	for i, element := range v.elements {
		if p.full() {
			return
		}
		n.Cases = append(n.Cases, p.choiceCase(element, at.at(strconv.Itoa(i))))
	}
}

func (p *parser) choiceCase(v value, at *place) (c Case) {
	if v.kind != '{' {
		p.add(at,
			"a case is an object such as {\"action\": \"a\", \"expr\": {\"eq\": "+
				"[\"$params.kind\", \"a\"]}}; got %s", v)
		return c
	}
	has := false
	for _, m := range v.members {
		switch below := at.at(m.name); m.name {
		case "action":
			c.Action = p.string(m.value, below)
		case "expr":
			has = true
			c.Expr = p.expression(m.value, below)
		case "name", "description":
			p.string(m.value, below)
		default:
			p.unknownField(below, m, []string{"action", "expr", "name", "description"}, "a case")
		}
	}
	if !has {
		p.add(at,
			"the case has no \"expr\": say when it holds, such as {\"exists\": \"$params.kind\"}")
	}
	return c
}

// expression reads an expression. Its problems get their places below the case.
func (p *parser) expression(v value, at *place) *expr.Expr {
	e, problems := expr.Parse(v.raw(p.source), at.pointer())
	for _, problem := range problems {
		if p.full() {
			break
		}
		message := problem.Message
		if near := p.suggester.nearest(problem.Unknown, expr.Operators); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		p.problems = append(p.problems, Problem{problem.Pointer, message})
	}
	return e
}

// decode reads JSON that the definition holds.
func decode[T any](text json.RawMessage) (v T, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}
