// Package simulation runs the real engine, unchanged, in a world that a seed drives: what comes next, what time it is, and what
// goes wrong. The same seed goes the same way, so whatever it finds can be repeated, and made smaller.
//
// Every call that the engine makes of the world (a port's) waits until the simulation answers it: as it should; not at all; as
// if it had not happened, though it did; in part; with what was true a moment ago. Messages come twice, late, out of order, to
// two at once. Processes die between any two calls, run out of time, come back cold; their clocks differ; all queues are lost.
// Between two events all goroutines are quiet: testing/synctest says when. Time is the simulation's own.
//
// Programs (program.go) are drawn, too: activities, steps, timers, signals, updates, children, scopes, phases, patches,
// generations, in branches within branches; in some seeds (specials.go) also limits of activities,
// ids of children used twice, children left behind, attributes, little memory, short pages of
// listings, signals that do not fit, callers that go away, children that are asked to stop, runs that
// are started again and reset in quick succession, programs that are published at any time, in two
// versions (definitions.go), and JSON flows among them (flows.go); and so is what callers do: they
// write to runs, ask, cancel, terminate, reset, use an id again, complete activities by their tokens. The same program is carried out twice (code.go): on core/workflow (surface.go), under
// faults, and on a second implementation (naive.go), which is given the events of the log once, in order, and knows no replay.
// After every record (records.go):
//
//   - the log has no gap, nothing twice, no time that goes back; nothing is resolved that nothing waits for;
//   - its commands are those of the second implementation, and so is what the author's code saw: live in the process that put
//     the record, and replayed by a witness;
//   - no timer is early, no step is run by two living handlers at once, no mail that its author has seen is left;
//   - who runs a step has an item in its name;
//   - a checkpoint names what is pending, all of it and no more.
//
// A flow runs on core/flow, and a second time on naive_flow.go: ordinary code that goes from node to
// node, and that carries nothing over when the run continues as new. Each record must have the
// commands of that code. The published state, the answers to queries, the node runs, the shared state
// at the end and the node that failed must be the same (flow_checks.go). Flows are children and parents
// of Go programs. What happened to which kinds of nodes is counted (flow_coverage.go).
//
// Callers use one id for messages of different kinds, names and contents. What must come of that is
// known without the log (checks.go): a conflict where another content was sent, and taken before
// the call; else each message is taken, and says what its sender said.
//
// Times and outcomes of activities (activities.go), what parents are told of children and children of
// parents (children.go), and attributes follow from what callers and programs asked for, not from
// the log.
//
// Once faults stop (outcome.go): every run ends or waits for people, every accepted mail was taken, in its sender's order; every
// answer that a caller was given is the log's.
//
// Read it in the order case.go, faults.go, simulation.go, process.go, ports.go, queue.go, callers.go, checks.go, records.go,
// outcome.go; then programs.
// Not simulated: retention of ended runs, stuck code, versions of records. Their own packages have tests for them.
package simulation
