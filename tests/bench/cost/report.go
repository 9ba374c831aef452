package main

import (
	"fmt"
	"io"
)

// List prices in dollars per million, us-east-1, November 2026.
const (
	writeUnit    = 0.625
	readUnit     = 0.125
	queueRequest = 0.40
	invocation   = 0.20
)

// Others, in dollars per million activities, without the functions that perform them.
const (
	stepFunctions    = 25.00
	durableFunctions = 8.00
)

// dollars per million of what was used, without the time that functions take: what they do in it is the user's own.
func (u usage) dollars() float64 {
	return u.writes*writeUnit + u.reads*readUnit + u.queueRequests*queueRequest + u.invocations*invocation
}

func report(out io.Writer, costs []cost) {
	fmt.Fprintln(out, "What one activity adds, and dollars per million (of activities; in brackets what a run costs beside its activities, per million runs).")
	fmt.Fprintln(out, "Without the time of functions, and without what idle pollers ask. With what retention does later,")
	fmt.Fprintln(out, "which the last column names, too: of the activity, and in brackets of the run beside it.")
	fmt.Fprintln(out)
	fmt.Fprintln(out, "| workload | puts | queries | deletes | other | write units | read units | messages | SQS requests | invocations | $ per million | (a run) | $ of retention |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, c := range costs {
		u := c.perActivity.whole
		fmt.Fprintf(out, "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | **%.2f** | (%.2f) | %.2f (%.2f) |\n",
			c.name, u.puts, u.queries, u.deletes, u.otherRequests, u.writes, u.reads, u.messages, u.queueRequests, u.invocations, u.dollars(),
			c.run.whole.dollars(), c.perActivity.retention.dollars(), c.run.retention.dollars())
	}
	fmt.Fprintf(out, "| Lambda durable functions | | | | | | | | | | %.2f | + $0.25 a GB written | |\n", durableFunctions)
	fmt.Fprintf(out, "| Step Functions Standard | | | | | | | | | | %.2f | | |\n", stepFunctions)
}
