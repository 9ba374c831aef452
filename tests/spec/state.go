package main

import "unsafe"

// The state of the world, as bytes. What survives a crash is in Run (the table) and Message (the queues); Visit and Function
// are parts of invocations, lost when they die.

const (
	maxRuns        = 2 // run 0, and run 1: its child
	maxGenerations = 2
	maxRecords     = 8  // per generation
	maxMessages    = 16 // at one time, both queues and the dead letter queues together
	maxVisits      = 3  // handlers of resumes at work at one time
	maxCommands    = 5  // per generation
	maxMail        = 2  // signals
)

// Items is a set of inbox items of one generation, or of the events that they become in the log: the same keys.
// Mail belongs to no generation; its items are kept with those of generation 1.
type Items uint8

const (
	itemStart  Items = 1 << 0
	itemResult Items = 1 << 1 // … 1 << 5: result of command 0 … 4 (activity, child), or its firing (timer)
	itemMail   Items = 1 << 6 // … 1 << 7
	allResults Items = 0x1f << 1
	allMail    Items = 3 << 6
)

// Filings says of each item which filing it is: a number that tells it from other filings of the same key.
type Filings uint16

func (f Filings) of(item Items) uint8 { return uint8(f >> (2 * lowest(uint8(item))) & 3) }

func (f *Filings) set(item Items, number uint8) {
	shift := 2 * lowest(uint8(item))
	*f = *f&^(3<<shift) | Filings(number)<<shift
}

// only keeps the numbers of those items.
func (f Filings) only(items Items) (kept Filings) {
	if f == 0 {
		return 0
	}
	for rest := items; rest != 0; rest &= rest - 1 {
		kept.set(rest, f.of(rest))
	}
	return
}

// Author of a record, of what it names, and what a delayed resume waits for. 1 … maxVisits: a visit, alive.
const (
	past     = 0             // its deadline has passed
	deadline = maxVisits + 1 // it is gone, but its deadline has not passed: nobody can know that it is gone
)

// Record is one record of a log. What the code makes of its events is played anew, not stored.
type Record struct {
	Filings Filings // of Takes and Again
	Takes   Items   // events that are in the log from here on
	Again   Items   // items taken before, by an author now dead, that this author answers for
	Emits   uint8   // commands
	Resumes uint8   // steps of dead authors that this author answers for
	Chain   uint8   // number of its author's first record: equal for all records of one author
	Author  uint8
}

// Run is what the table has of a run.
type Run struct {
	Filings    [maxGenerations]Filings
	Inbox      [maxGenerations]Items
	Token      uint8                 // summary: who started it; 0: there is no summary
	Generation uint8                 // summary
	Blocked    uint8                 // summary: the mark, from 1
	Used       uint8                 // not stored: tasks whose completion token was used (generation 1)
	Count      [maxGenerations]uint8 // records in the log
	Due        [maxGenerations]uint8 // due buckets: long timers
	Done       [maxGenerations]uint8 // not stored: commands carried out at least once
	Sent       [maxGenerations]uint8 // not stored: commands sent at least once, as long as there was no fault
	Log        [maxGenerations][maxRecords]Record
}

// Kinds of message. All but Task are resumes: "look at this run".
const (
	Resume  = iota + 1
	Unblock // Argument: mark. Take it off, then look
	Fired   // Argument: timer. File its firing, then look
	Start   // Argument: token. File the start, then look
	Mail    // Argument: signal. File it, then look
	Task    // Argument: command + 8 × (attempt - 1); on the task queue
)

// Letter is what a message says.
type Letter struct{ Kind, Run, Generation, Argument uint8 }

// carries says whether a resume carries an item to be filed.
func (l Letter) carries() bool { return l.Kind == Fired || l.Kind == Start || l.Kind == Mail }

// Flags of a message.
const (
	dead    = 1 // in the dead letter queue
	doubled = 2 // the queue has delivered two copies: the older receipt may acknowledge nothing
)

// Bits of Message.Holders: who has received it and not yet acknowledged. Bits 0 … maxVisits-1: visits.
const (
	holderWorker     = 1 << 6
	holderDeadLetter = 1 << 7
)

// Message is a letter in a queue.
type Message struct {
	Letter
	Received uint8
	Flags    uint8
	Holders  uint8
	Wait     uint8 // delayed until this author's deadline
}

// At is the external call that a visit, or a function, makes NEXT.
const (
	idle = iota
	atFile
	atClear
	atLook
	atInbox
	atLog
	atSend
	atPut
	atStep
	atStepEnd
	atDelete
	atBlock
	atResume
	atAcknowledge
)

// What a visit has to do besides commands.
const (
	resumeChild = 1 << iota
	tellParent
	resumeParent
	resumeSelf
)

// Visit is one look at a run by functions/activate, and all that follows from it: see core/engine/activate.go.
type Visit struct {
	Filings                   [maxGenerations]Filings // of Seen, Takes and Again
	Seen                      [maxGenerations]Items   // the inbox as seen, while the rest is read
	Tidy                      [maxGenerations]Items   // items to delete at the end
	Takes, Again              Items                   // the record that it is about to put
	Carries                   [2]Letter               // of the messages that it holds, those that carry what is yet to be filed
	Known                     [maxGenerations]uint8   // its own newest record whose sends are made, +1
	Send                      [maxGenerations]uint8   // commands to send
	Extra                     uint8                   // what else
	At                        uint8
	Run                       uint8
	Unblock                   uint8 // the mark that is to be taken off
	With                      uint8 // another visit of the same invocation, +1
	SeenGeneration, SeenCount uint8 // the log that it knows
	Resumes                   uint8 // steps that its record will take over
	Recording                 uint8 // 1: a record follows the sends
	Steps                     uint8 // steps it may run
	Running                   uint8 // the step it runs, +1
	Result                    uint8 // the step whose result it holds in memory, +1
	Wait                      uint8 // an author alive that answers for an item it found
	Padding                   uint8
}

// Function is an invocation of functions/task, timer or deadletter.
type Function struct {
	At uint8
	Letter
}

// Phases of an API caller.
const (
	callerBefore = iota
	callerBetween
	callerAccepted
	callerRefused
	callerDied
	callerAsksAgain
)

// Budget is how many faults of each kind there may be.
type Budget struct {
	Crash     uint8 // an invocation dies, or one of its calls fails
	Duplicate uint8 // a message is delivered a second time while the first is being handled
	Lost      uint8 // an answer
	Short     uint8 // too little time is left for a step
	Fail      uint8 // an attempt of an activity
	Pause     uint8 // functions/timer does not run; or, without rule Deadline, an author is held to be dead too soon
	Stale     uint8 // without rule Strong, a read is too old
	Wipe      uint8 // all queues are deleted
}

// State is the world.
type State struct {
	Runs       [maxRuns]Run
	Visits     [maxVisits]Visit
	Messages   [maxMessages]Message
	Worker     Function
	Timer      Function
	DeadLetter Function
	Budget     Budget
	Queued     uint8
	Starters   [2]uint8
	Signallers [maxMail]uint8
	Operator   uint8 // rule UnblockByMessage off: run +1 whose mark is off and that is not yet resumed
	Unblocks   uint8 // used, at most 2
	Clock      uint8 // 0: far from the long timers' time; 1: within the last 15 minutes; 2: past
	Broken     uint8 // the deployment makes activations fail
	Rebuild    uint8 // run +1 that a rebuild comes to next
	Late       uint8 // a fault like a death: an invocation has ended without having said so in a record
	Bad        uint8 // an invariant broke: index in badText
	Padding    uint8
}

func bytesOf(s *State) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(s)), unsafe.Sizeof(*s)) }
