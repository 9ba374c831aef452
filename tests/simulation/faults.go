package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/reprise-run/reprise/core/port"
)

// fault is what goes wrong with one external call, or with one message.
type fault int

const (
	none           fault = iota - 1
	failsBefore          // it does not happen, and says so
	throttled            // it is refused for now
	losesAnswer          // it happens, and nobody is told
	diesBefore           // its process dies before it
	diesAfter            // its process dies after it
	takenByItself        // it happens, is made again on the way, and is told that its place is taken
	sentInPart           // some of its messages are sent, and it fails
	stale                // a read shows what was
	short                // a read gives less than there is, and says so
	torn                 // a read is no snapshot: others write while it lasts
	delivered2           // a message is delivered to two at once
	late                 // a message is delayed
	unacknowledged       // it was handled, and comes again
	coldStart            // a process is replaced between two invocations
	purged               // all queues are lost
	faultKinds     int   = iota - 1
)

func (f fault) String() string {
	return [...]string{"fails before", "throttled", "loses its answer", "dies before", "dies after", "taken by itself", "sent in part", "stale", "short", "torn",
		"twice", "late", "unacknowledged", "cold start", "purged"}[f]
}

// Operations, as the coverage table shows them, that are no calls of the engine's.
const (
	resumeMessage = "resume message"
	taskMessage   = "task message"
	processes     = "process"
	queues        = "queues"
)

var storeCalls = []string{port.OpLook, port.OpRecords, port.OpSummary, port.OpSize, port.OpCreate, port.OpFile, port.OpPut, port.OpDelete, port.OpDiscard, port.OpDeleteLog, port.OpNote, port.OpNoted, port.OpItem, port.OpRecord, port.OpBlock, port.OpUnblock, port.OpList, port.OpUnfinished, port.OpPutDue, port.OpDueBefore, port.OpDeleteDue, port.OpSaveTask, port.OpCancelTask, port.OpLoadTask, port.OpTasksOf, port.OpDeleteTask,
	port.OpPutDefinition, port.OpFindDefinition, port.OpDefinition, port.OpVersions}

var sends = []string{port.OpSendResumes, port.OpSendTasks}

var messages = []string{resumeMessage, taskMessage}

// meets says which operations a kind of fault can happen to.
func (f fault) meets() []string {
	switch f {
	case failsBefore, throttled, losesAnswer, diesBefore, diesAfter:
		return append(slices.Clone(storeCalls), sends...)
	case takenByItself:
		return []string{port.OpCreate, port.OpPut, port.OpPutDefinition}
	case sentInPart:
		return sends
	case stale: // of what DynamoDB's indexes show
		return []string{port.OpList, port.OpUnfinished}
	case short:
		return []string{port.OpLook, port.OpRecords}
	case torn:
		return []string{port.OpLook}
	case delivered2, late, unacknowledged:
		return messages
	case coldStart:
		return []string{processes}
	}
	return []string{queues}
}

// faults draws what goes wrong, and counts it.
type faults struct {
	random *rand.Rand
	rates  [faultKinds]int
	only   []int // numbers of those that happen; nil: all
	count  int   // drawn so far
	struck []int // numbers of those that happened
	over   bool
	met    Coverage
}

// Coverage counts how often which kind of fault met which operation.
type Coverage map[string]map[string]int

func (c Coverage) add(f fault, operation string) {
	if c[f.String()] == nil {
		c[f.String()] = map[string]int{}
	}
	c[f.String()][operation]++
}

// Add adds what another one counted.
func (c Coverage) Add(other Coverage) {
	for kind, operations := range other {
		for operation, times := range operations {
			if c[kind] == nil {
				c[kind] = map[string]int{}
			}
			c[kind][operation] += times
		}
	}
}

// Missing lists the pairs of a kind of fault and an operation it can happen to that have not met.
func (c Coverage) Missing() (pairs []string) {
	for f := range fault(faultKinds) {
		for _, operation := range f.meets() {
			if c[f.String()][operation] == 0 {
				pairs = append(pairs, f.String()+" × "+operation)
			}
		}
	}
	return pairs
}

// Table shows the counts, a line for each kind of fault.
func (c Coverage) Table() string {
	text := ""
	for f := range fault(faultKinds) {
		text += fmt.Sprintf("%-16s", f)
		for _, operation := range f.meets() {
			text += fmt.Sprintf(" %s %d", operation, c[f.String()][operation])
		}
		text += "\n"
	}
	return text
}

// strikes says whether a fault happens now.
func (f *faults) strikes(kind fault, operation string) bool {
	if f.over || f.rates[kind] == 0 || f.random.IntN(1000) >= f.rates[kind]*rarity(kind, operation) {
		return false
	}
	f.count++
	if f.only != nil && !slices.Contains(f.only, f.count) {
		return false
	}
	f.struck = append(f.struck, f.count)
	f.met.add(kind, operation)
	return true
}

// draw gives what happens to a call, if anything.
func (f *faults) draw(operation string, possible ...fault) fault {
	for _, kind := range possible {
		if slices.Contains(kind.meets(), operation) && f.strikes(kind, operation) {
			return kind
		}
	}
	return none
}

// rarity raises the rate of what seldom has an occasion, so that it meets its faults, too.
func rarity(kind fault, operation string) int {
	if kind == sentInPart || kind == stale {
		return 10
	}
	switch operation {
	case port.OpDeleteLog:
		return 20
	case port.OpDiscard, port.OpNote, port.OpRecord, port.OpBlock, port.OpUnblock, port.OpList, port.OpPutDue, port.OpDueBefore, port.OpDeleteDue, port.OpTasksOf,
		port.OpPutDefinition, port.OpFindDefinition, port.OpDefinition, port.OpVersions:
		return 8
	case port.OpNoted, port.OpSize, port.OpItem, port.OpCreate, port.OpSaveTask, port.OpCancelTask, port.OpLoadTask, port.OpDeleteTask, port.OpUnfinished, port.OpSendTasks, taskMessage, processes:
		return 3
	}
	return 1
}

var (
	errNoAnswer  = fmt.Errorf("the answer did not come: %w", port.ErrUnavailable)
	errThrottled = fmt.Errorf("too many requests: %w", port.ErrUnavailable)
	errDead      = fmt.Errorf("the process is dead: %w", port.ErrUnavailable)
	errTaken     = fmt.Errorf("by itself: %w", port.ErrTaken)
)
