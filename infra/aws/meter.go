package aws

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Meter counts what is used of the services, by run and operation, in the terms of their prices. An operation has the name
// that its service gives it: PutItem, Query, SendMessageBatch, PutObject. Attempts that were throttled are not counted: they
// cost nothing.
//
// The zero Meter is ready for use, by many goroutines at a time. A nil Meter counts nothing.
type Meter struct {
	mu    sync.Mutex
	lines map[line]Usage
}

type line struct{ run, operation string }

// mostLines bounds a meter that nobody empties: runs beyond are counted together, under no name.
const mostLines = 10_000

// Usage is what an operation used.
type Usage struct {
	Requests int
	// Messages that the requests moved: a batch is one request.
	Messages int
	// Reads and Writes are DynamoDB's units.
	Reads, Writes float64
}

// Line is the usage of one operation by one run; by none if the run is empty, or by several at once.
type Line struct {
	Run, Operation string
	Usage
}

// Count counts one request, and the read and write units that it consumed.
func (m *Meter) Count(run, operation string, reads, writes float64) {
	m.add(run, operation, Usage{Requests: 1, Reads: reads, Writes: writes})
}

// Messages counts one request that sent, received or deleted a message for each of these runs. If they are not all the
// same, the request itself is nobody's.
func (m *Meter) Messages(operation string, runs ...string) {
	whose := ""
	if len(runs) > 0 && !slices.ContainsFunc(runs, func(run string) bool { return run != runs[0] }) {
		whose = runs[0]
	}
	m.add(whose, operation, Usage{Requests: 1})
	for _, run := range runs {
		m.add(run, operation, Usage{Messages: 1})
	}
}

func (m *Meter) add(run, operation string, more Usage) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines == nil {
		m.lines = map[line]Usage{}
	}
	key := line{run, operation}
	if _, there := m.lines[key]; !there && len(m.lines) >= mostLines {
		key.run = ""
	}
	m.lines[key] = m.lines[key].plus(more)
}

func (u Usage) plus(more Usage) Usage {
	return Usage{u.Requests + more.Requests, u.Messages + more.Messages, u.Reads + more.Reads, u.Writes + more.Writes}
}

// Total is what a run used of an operation so far. An empty name stands for all.
func (m *Meter) Total(run, operation string) (total Usage) {
	for _, l := range m.Snapshot() {
		if (run == "" || run == l.Run) && (operation == "" || operation == l.Operation) {
			total = total.plus(l.Usage)
		}
	}
	return total
}

// Snapshot is all that was counted so far, ordered by run, then operation.
func (m *Meter) Snapshot() []Line {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	counted := maps.Clone(m.lines)
	m.mu.Unlock()
	lines := make([]Line, 0, len(counted))
	for key, usage := range counted {
		lines = append(lines, Line{key.run, key.operation, usage})
	}
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Operation, b.Operation)) })
	return lines
}
