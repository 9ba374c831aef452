package flow

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/flow/expr"
)

// Kind says what a node does.
type Kind string

// The kinds.
const (
	Executor  Kind = "executor"
	Choice    Kind = "choice"
	Parallel  Kind = "parallel"
	Subflow   Kind = "subflow"
	Timer     Kind = "timer"
	Foreach   Kind = "foreach"
	WaitEvent Kind = "wait_event"
	Approval  Kind = "approval"
)

// Kinds lists the kinds.
var Kinds = []Kind{Executor, Choice, Parallel, Subflow, Timer, Foreach, WaitEvent, Approval}

// Definition is a flow that was parsed and checked, or a subflow of one. It does not change.
type Definition struct {
	Start string
	Nodes []*Node // in the order of the source
	Edges []Edge  // in the order of the source

	nodes map[string]*Node
	next  map[exit]string
	// longAfter is how many events and commands make a log long; 0: as workflow.Info says.
	longAfter int
}

// ContinueAfter has runs continue as new once their log has so many events and commands, instead of
// when [workflow.Info] suggests it. It is for tests: runs replay only under the same number.
func (d *Definition) ContinueAfter(size int) { d.longAfter = size }

// Edge leads from a node to the next one, if the node ended with the action.
type Edge struct {
	From   string
	Action string // [DefaultAction] if the source has none
	To     string // empty: the flow ends
}

// DefaultAction is the action of the edge that is taken when a node's own action has none.
const DefaultAction = "default"

// exit is a node with an action.
type exit struct{ from, action string }

// Node gives a node by its key; nil if there is none.
func (d *Definition) Node(key string) *Node { return d.nodes[key] }

// Next is the node that follows a node which ended with an action. Empty: the flow ends. False: no
// edge leads on.
func (d *Definition) Next(from, action string) (to string, found bool) {
	if to, found = d.next[exit{from, action}]; found {
		return to, true
	}
	to, found = d.next[exit{from, DefaultAction}]
	return to, found
}

// WorkerServices lists the services of HTTP workers that nodes of the flow name, those of subflows
// too, in alphabetical order.
func (d *Definition) WorkerServices() []string {
	var all []string
	for _, n := range d.Nodes {
		for _, service := range append([]string{n.Service}, n.Services...) {
			if service != "" && !strings.HasPrefix(service, Go) {
				all = append(all, service)
			}
		}
		if n.Subflow != nil {
			all = append(all, n.Subflow.WorkerServices()...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Node is one node of a flow. Fields that its kind does not have are zero.
type Node struct {
	Key    string
	Kind   Kind
	Params map[string]json.RawMessage
	Prep   Prep
	Post   Post

	// Service of an executor or a foreach; Services of a parallel.
	Service  string
	Services []string
	// Workflow is the name of the Go workflow or the published definition that a subflow runs as a
	// child; empty if it has a flow of its own. Definition is the version; zero: the latest.
	Workflow   string
	Definition int
	Subflow    *Definition

	Cases         []Case
	DefaultAction string

	// MaxRetries is how often what failed is tried again, Wait how long before.
	MaxRetries int
	Wait       time.Duration
	// CallTimeout is how long one request to a worker may take; a call, which may try several
	// workers, has twice that time. Of a Go activity, it is the time of the call. Zero: 10 s for a
	// request, a minute for a call.
	CallTimeout time.Duration
	// MaxAttempts, AttemptDelay and WeightedByLoad say how one call goes through the workers of a
	// service.
	MaxAttempts    int
	AttemptDelay   time.Duration
	WeightedByLoad bool

	Concurrent  bool
	MaxParallel int // zero or less: all at once
	Strategy    Strategy
	// ToleratedCount and ToleratedPercentage say how many failed calls do not fail the node.
	ToleratedCount      int
	ToleratedPercentage float64
}

// Prep says what the input of a node is.
type Prep struct {
	Key *Source           // the whole input
	Map map[string]Source // the members of the input; it takes precedence
}

// Source is where a value comes from.
type Source struct {
	Text      string
	reference expr.Reference
}

// Post says what becomes of a node's result.
type Post struct {
	OutputKey    string
	OutputMap    map[string]string
	ActionStatic string
	ActionKey    string

	output map[string]expr.Path
	action expr.Path
}

// Case is a case of a choice: the action if the expression holds.
type Case struct {
	Action string
	Expr   *expr.Expr
}

// Strategy says what a failure inside a node means to the node.
type Strategy string

// The strategies. "continue" is another name of IgnoreErrors.
const (
	CollectErrors Strategy = "collect_errors" // all calls are made, then the node fails
	FailFast      Strategy = "fail_fast"      // the first failure too many fails the node
	IgnoreErrors  Strategy = "ignore_errors"  // failed results are null, and the node succeeds
	RetryAgain    Strategy = "retry"          // as max_retries says
)

// HTTP and Go are how the name of a service begins: which executor performs its calls.
const (
	HTTP = "http:" // a worker that offers the service; the prefix may be left out
	Go   = "go:"   // a Go activity that the program registers
)

// Activity is the name of the activity that a service's calls are.
func Activity(service string) string {
	if name, is := strings.CutPrefix(service, Go); is {
		return name
	}
	return HTTP + strings.TrimPrefix(service, HTTP)
}
