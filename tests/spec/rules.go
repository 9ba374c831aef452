package main

import "reflect"

// Rules are the sentences of core/engine/PROTOCOL.md, one switch each, by the names that core/engine/rules_test.go and
// mutations_test.go use. All are on in the protocol; each can be turned off alone, to show what is lost without it.
type Rules struct {
	// Rule 1: file, then resume.

	// FileFirst: what a message carries is filed before the run is looked at. Off: at the end of the visit.
	FileFirst bool
	// ResumeAgain: a filer that finds its item there already resumes all the same.
	ResumeAgain bool
	// MessageFirst: an API call sends its resume, carrying the item, before it files. Off: it files, then resumes.
	MessageFirst bool
	// OneFiling: every filing has an id of its own. Off: a second one of an item looks like the first.
	OneFiling bool

	// Rule 2: look.

	// Strong: inbox and log are read strongly consistent.
	Strong bool
	// InboxFirst: where a look is no snapshot, the inbox is read before the log.
	InboxFirst bool
	// LookAgain: who sees the record that closes a generation under a summary from before it looks again. Off: it goes by
	// what it saw.
	LookAgain bool
	// Lookback: an item is looked for in closed generations, too. Off: what is not of the current one is void.
	Lookback bool

	// Rule 3: put, send, delete, acknowledge.

	// DeleteLast: items are deleted after the record and its sends. Off: after the record.
	DeleteLast bool
	// AcknowledgeLast: messages are acknowledged at the very end. Off: after the record.
	AcknowledgeLast bool
	// OwnRecord: who finds a record of its own, put without an answer, makes its sends. Off: it takes them for made.
	OwnRecord bool
	// PartialSend: messages sent together of which some were refused count as not sent. Off: as sent.
	PartialSend bool
	// PartialAnswer: each entry of a batch has its own answer. Off: one that failed is acknowledged with the others.
	PartialAnswer bool

	// Rule 4: what belongs to whom.

	// Finish: what the newest record of a dead author asks for is sent again. Off: its items are deleted.
	Finish bool
	// Patience: only once that author is dead for certain. Off: by whoever sees it.
	Patience bool
	// ResumeLater: who leaves an item to a living author sends a resume delayed to that author's deadline. Off: it does not.
	ResumeLater bool
	// FinishFirst: what the dead left unsent is sent before one's own record is put. Off: after it.
	FinishFirst bool
	// Takeover: who takes over a step says so in a record first.
	Takeover bool
	// NameAgain: that record names the items of the dead: they are its author's from then on.
	NameAgain bool
	// Deadline: an author is not held to be dead before its invocation must have ended.
	Deadline bool

	// Rule 5: too little time.

	// HandOver: it is said in a record, whose author is dead at once. Off: the author stops, and resumes.
	HandOver bool

	// Rule 6: closing.

	// CarryIds: continue-as-new carries along what tells the mail taken (the engine: the newest ids, and until when more was).
	CarryIds bool //nolint:revive // the rule is called so in the engine, too
	// CarrySignals: and the signals in the log that the code has not taken.
	CarrySignals bool
	// StartLeft: children that a dead author was to start are started though their parent's generation has closed.
	StartLeft bool

	// Rule 7: blocked.

	// DeadFiles: the dead letter function files what a dead resume carries.
	DeadFiles bool
	// BlockClosed: it blocks a closed run, too. Off: only an open one.
	BlockClosed bool
	// UnblockByMessage: an unblock is one message, whose handler takes the mark off. Off: the operator does, then resumes.
	UnblockByMessage bool
	// UnblockNames: that message names the mark, and its handler takes no other off; the dead letter function replaces one that a dead
	// message names. Off: it takes off whichever there is.
	UnblockNames bool
	// ClearFirst: that handler takes the mark off before it looks. Off: at the end of the visit.
	ClearFirst bool

	// Rule 8: long timers.

	// Route: whether a timer goes to a bucket or to the queue is decided by the time left when it is sent.
	Route bool
	// Cursor: functions/timer goes on with a bucket until it saw it empty after its time.
	Cursor bool
	// SendFirst: functions/timer sends, then deletes.
	SendFirst bool

	// Rule 10: rebuild.

	// RebuildSends: what is pending in every open run is sent again. Off: runs are only resumed.
	RebuildSends bool
	// RebuildClosed: closed runs that have inbox items are resumed, too.
	RebuildClosed bool
}

func ruleNames() (names []string) {
	for field := range reflect.TypeFor[Rules]().Fields() {
		names = append(names, field.Name)
	}
	return
}

func allRules() (r Rules) {
	for _, name := range ruleNames() {
		r = r.with(name, true)
	}
	return
}

func (r Rules) with(name string, on bool) Rules {
	reflect.ValueOf(&r).Elem().FieldByName(name).SetBool(on)
	return r
}
