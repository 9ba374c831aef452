// Package history is what a run is made of: events (what happened to it), commands (what it decided), the records that
// hold both, payloads, failures, and their one stored form.
//
// The stored form is JSON with string kinds, so that a person can read a log and every later version of this package can
// read what an older one wrote. It is versioned; see [Version]. This package knows nothing of who writes or reads a log:
// no storage, no clock, no author's code.
//
// One kind of work has one file here, and files of the same name in machine, scheduler and
// workflow.
package history
