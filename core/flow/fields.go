package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
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
	"definition":        {Subflow},
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
	MaxCalls    = 10_000
	mostVersion = 1_000_000_000
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
	case "definition":
		n.Definition = p.int(v, at, 0, mostVersion)
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
		if n.Definition > 0 && n.Workflow == "" {
			p.add(at.at("definition"),
				"the version is that of \"workflow\", which names a published flow: name it, too")
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

func (p *parser) readSubflow(n *Node, v value, at *place, nested int) {
	if !v.zero() {
		n.Subflow = p.flow(v, at, nested+1)
	}
}

// decode reads JSON that the definition holds.
func decode[T any](text json.RawMessage) (v T, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}
