package mutation

const (
	runFlowGo  = "core/flow/run.go"
	nodeGo     = "core/flow/node.go"
	fanoutGo   = "core/flow/fanout.go"
	stateGo    = "core/flow/state.go"
	messagesGo = "core/flow/messages.go"
	subflowGo  = "core/flow/subflow.go"
)

// Flows are the rules of the interpreter of flows, each with the test of core/flow that fails without
// it.
var Flows = []Mutation{
	{"flows: messages before a node looks", "TestChoice", nodeGo,
		"\tworkflow.Yield(ctx) // messages that have come are handled before the node looks\n", ""},
	{"flows: messages before the end of a generation", "TestSignalsWithResults", runFlowGo,
		"\tworkflow.Yield(ctx) // messages of this activation count, before the state is carried or given\n\tif errors.Is(err, errLong) &&",
		"\tif errors.Is(err, errLong) &&"},
	{"flows: a cancellation before the end of a generation", "TestCanceledBeforeItContinues", runFlowGo,
		"\t\terr = ctx.Err() // the next generation would not know that it was canceled\n", ""},
	{"flows: what a message writes is published", "TestMessages", messagesGo,
		"\tr.writes++\n\tr.publish(ctx)\n", "\tr.writes++\n"},
	{"flows: waiting nodes look after each message", "TestWaitEvent", messagesGo,
		"\tr.writes++\n\tr.publish(ctx)\n", "\tr.publish(ctx)\n"},
	{"flows: what is published between generations", "TestPublishedBetweenGenerations", runFlowGo,
		"\t\t\tr.publish(ctx) // what the last node wrote, for readers between the generations\n", ""},
	{"flows: the edge default", "TestKinds", "core/flow/definition.go",
		"to, found = d.next[exit{from, DefaultAction}]", "to, found = d.next[exit{from, \"\"}]"},
	{"flows: a failed node's edge", "TestKinds", runFlowGo,
		"if next == \"\" && ended.failure != nil {", "if ended.failure != nil {"},
	{"flows: params of the node over the task's", "TestParams", nodeGo,
		"params: params.with(n.Params)}", "params: object(n.Params).with(params)}"},
	{"flows: results in order", "TestResultsInOrder", fanoutGo,
		"f.Results[i] = orNull(result)", "f.Results[f.ended-1] = orNull(result)"},
	{"flows: fail_fast stops the others", "TestFailFastStopsOthers", fanoutGo,
		"\t\t\t\tf.stopped = true\n\t\t\t\tstop()\n", "\t\t\t\tf.stopped = true\n\t\t\t\t_ = stop\n"},
	{"flows: failures that are tolerated", "TestStrategies", fanoutGo,
		"v.node.Strategy != IgnoreErrors && v.intolerable(f) {", "v.node.Strategy != IgnoreErrors {"},
	{"flows: retries of a call", "TestKinds", "core/flow/executor.go",
		"if failure == \"\" || final || attempt > v.node.MaxRetries {", "if failure == \"\" || final || attempt >= v.node.MaxRetries {"},
	{"flows: no new call in a long log", "TestTenThousandItems", fanoutGo,
		"if f.stopped || v.long || ctx.Err() != nil", "if f.stopped || ctx.Err() != nil"},
	{"flows: retries of a node over generations", "TestKindsContinued", stateGo,
		"`json:\"retries,omitempty\"`", "`json:\"-\"`"},
	{"flows: when a node is due, over generations", "TestKindsContinued", stateGo,
		"`json:\"due,omitzero\"`", "`json:\"-\"`"},
	{"flows: the input of a node over generations", "TestKindsContinued", stateGo,
		"\tInput   json.RawMessage `json:\"input,omitempty\"`\n\tEntered", "\tInput   json.RawMessage `json:\"-\"`\n\tEntered"},
	{"flows: shared state over generations", "TestKindsContinued", stateGo,
		"`json:\"shared\"`", "`json:\"-\"`"},
	{"flows: calls that have ended, over generations", "TestKindsContinued", fanoutGo,
		"`json:\"results\"`", "`json:\"-\"`"},
	{"flows: the place in a subflow over generations", "TestKindsContinued/subflow/success", stateGo,
		"`json:\"sub,omitempty\"`", "`json:\"-\"`"},
	{"flows: steps over generations", "TestLongFlow", stateGo,
		"`json:\"steps\"`", "`json:\"-\"`"},
	{"flows: rows over generations", "TestKindsContinued", stateGo,
		"`json:\"rows,omitempty\"`", "`json:\"-\"`"},
	{"flows: a subflow begins anew", "TestSubflowFails", subflowGo,
		"\t\tv.frame.Now.Retries++\n\t\tv.frame.Now.Sub = nil\n", "\t\tv.frame.Now.Retries++\n"},
	{"flows: the row of a cancellation", "TestKinds", runFlowGo,
		"\tr.note(Row{Node: f.Node, Path: path(f), Status: RowCanceled, Action: RowCanceled,\n\t\tStarted: now, Finished: now})\n", "\t_, _ = f, now\n"},
}

// All are the rules of the engine and of flows.
var All = append(append([]Mutation{}, Rules...), Flows...)
