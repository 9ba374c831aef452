// Package flow runs workflows that are written as JSON: nodes, and edges between them. A flow
// needs no build. It is an ordinary workflow on the public surface of packages workflow and
// activity, and uses nothing private.
//
//	//go:embed order.json
//	var source []byte
//
//	func main() { program.Main(flow.MustWorkflow("order", source), charge) }
//
// [Interpret] is for an engine that runs flows which are published to it while it runs.
//
// The files tell the story in this order. definition.go has the types. parse.go reads a flow,
// fields.go a node, with prep.go, services.go and cases.go for parts of it, and check.go checks the
// graph. run.go goes from node to node, node.go runs one, and each kind of node has a file.
// state.go is the position that a run carries into its next generation.
//
// # Definitions
//
//	{
//	  "start": "total",
//	  "nodes": {
//	    "total":  {"kind": "executor", "service": "sum", "prep": {"input_key": "$params.prices"},
//	               "post": {"output_key": "total", "action_static": "ok"}},
//	    "big":    {"kind": "choice", "default_action": "pay",
//	               "choice_cases": [{"action": "ask", "expr": {"gt": ["$shared.total", 1000]}}]},
//	    "ask":    {"kind": "approval", "params": {"approval_key": "$shared.approved"}},
//	    "pay":    {"kind": "executor", "service": "go:charge", "prep": {"input_key": "total"}}
//	  },
//	  "edges": [
//	    {"from": "total", "action": "ok", "to": "big"},
//	    {"from": "big", "action": "ask", "to": "ask"},
//	    {"from": "big", "action": "pay", "to": "pay"},
//	    {"from": "ask", "action": "approved", "to": "pay"}
//	  ]
//	}
//
// [Schema] is the JSON Schema, for editors. [Parse] finds all mistakes at once. Package expr is
// the language of choices.
//
// The input of a run is the task's params, a JSON object. The result is the shared state at the
// end, which begins empty. A node gets an input (prep), and its result goes to the shared state
// (post). Params of a node take precedence over those of the task. A node ends with an action.
// The edge of this action leads to the next node, else the edge of the action "default". With
// neither, the flow ends: it has completed if the node succeeded, and failed if the node failed.
// The failure has the type [FailureType] and the details [NodeFailure].
//
// # Kinds
//
//   - executor calls a service. The service NAME is the activity http:NAME. Its input is a
//     [Call], its result an [Answer]. The service go:NAME is the Go activity NAME. Its input is
//     the node's input. A failure takes the edge default.
//   - choice takes the first case that holds, else action_static, action_key or default_action.
//   - parallel calls several services with one input, foreach one service with each element of an
//     array. The result is the array of results, in order. They make at most [MaxCalls] calls,
//     and [MaxRunning] at a time.
//   - subflow runs a flow inside this one, with a shared state of its own that becomes the
//     result. Its node's input is $input to the prep of the nodes inside. With "workflow", it
//     runs a child run instead: of a published flow, or of a Go workflow. Of a published flow, it
//     runs the latest version, or the version that "definition" names. The input of the child is
//     the node's input, or the params if the node is without prep.
//   - timer waits for params.delay_ms.
//   - wait_event waits until the value that params.signal_key refers to is there, approval until
//     that of params.approval_key is. With params.timeout_ms, they fail after that time. A
//     wait_event then takes the edge of its own action. An approval takes the edge "timeout",
//     never one of a decision.
//
// # Failures
//
// One request to a worker may take call_timeout_ms, 10 s if that is missing. A call tries other
// workers after one that failed, for twice that time, or for a minute. max_retries and wait_ms repeat
// what failed: a call, a subflow as a whole, the wait of a wait_event. A failure that is not
// retryable is not repeated. failure_strategy says what failed calls mean to a parallel or a
// foreach: collect_errors (all calls are made, then the node fails), fail_fast (no further calls,
// and those that run are canceled), ignore_errors or continue (failed results are null, and the
// node succeeds). A node fails only if more calls failed than tolerated_failure_count or
// tolerated_failure_percentage allow. With both, it fails if either is exceeded, as a Map of Step
// Functions does. A subflow or a wait_event knows ignore_errors, and retry, which says that
// max_retries is needed.
//
// The params of a call are those of task and node together. One exception: if the items of a
// foreach are a whole member of params and have more than 16 KB, the calls' params do not contain
// them.
//
// # Messages
//
// The signal and the update [Set] write a key of the shared state at any time. Waiting nodes look
// when they begin and after each message. Inside a subflow, they look for a key in the subflow's
// shared state first, then outward.
//
// # Long flows
//
// A run with a long log continues as new by itself: between two nodes, between two calls of a
// foreach or parallel, or while a node waits. Shared state, position, results so far and due
// times are carried over. The next generation's input then has the one member "_rt". A server
// must refuse that member in the input of a start: a run of a used id cannot tell it from its
// own.
//
// A flow that works without waiting for anything has to pause for a second now and then. After 20
// such pauses in a row it fails, since it most likely runs in a circle. A child run that more than
// 100 runs would wait for, each for the next, is not started; no max_retries repeats that failure.
// The paths of one node's prep and post read at most 128 MB.
//
// # Node runs
//
// A reader has two sources for the runs of nodes (WIRE-004's /tasks/runs, reprise get):
//
//   - The run's log. Each attempt of a call is an activity with an id of its own: [ParseCall]
//     gives node, step, branch and attempt. The log has its input, result or failure, worker and
//     times, in every generation, for as long as the run is kept. Of an http service, the
//     answer's tries name each worker that was asked. The child run of a subflow is a command of
//     the log, too.
//   - The query [RowsQuery], for facts that the log does not say: the action of each attempt, and
//     the rows of choices, timers, waits, approvals, totals of calls, and of a cancellation. A
//     row of a call names the activity's id. The run keeps 20,000 rows, and passes 1,000 on to
//     the next generation. The generation before answers the query for older ones.
//
// [LoggedCalls] reads the calls of a log. A reader asks for the rows page by page, joins those with
// a call by the activity's id, and adds the calls of the log that no row names. A run that is closed
// answers the query as well. A run that is blocked cannot answer: then the log alone gives the calls.
//
// The state that a run publishes ([State]) has its node, last action, number of steps, and small
// members of the shared state. The query [StateQuery] gives it whole.
package flow
