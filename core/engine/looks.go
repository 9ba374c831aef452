package engine

import "sync"

// pendingLooks are the runs that visits of this process are going to read, and have not read yet.
// What was filed for such a run before now, that visit sees. Another message that says no more than
// that the run should be read need not wait for it: as of the messages of one batch, one visit
// answers for both. If it fails, its own message comes again.
//
// The results of a thousand activities come with a message each. Without this, all of these would
// wait for the memory that the run needs, in the place of messages for other runs.
//
// The zero value is ready for use.
type pendingLooks struct {
	mu   sync.Mutex
	runs map[string]bool
}

// pendingLook is one visit's.
type pendingLook struct {
	of    *pendingLooks
	run   string
	ended bool
}

// begin says that a visit is going to read a run. It is not the first if another one is.
func (l *pendingLooks) begin(run string) (look *pendingLook, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[run] {
		return nil, false
	}
	set(&l.runs, run, true)
	return &pendingLook{of: l, run: run}, true
}

// end says that the visit begins to read, or never will.
func (p *pendingLook) end() {
	if p.ended {
		return
	}
	p.ended = true
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	delete(p.of.runs, p.run)
}
