package system

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// Process knows every author of records in this process. A store has one process at a time, which
// locks it. An author of another process has therefore ended. The engine's simulation runs it, too.
//
// It is safe for concurrent use.
type Process struct {
	name  string
	mu    sync.Mutex
	last  int
	alive map[string]bool
}

// NewProcess makes the authors of a process. The name differs from that of every earlier process,
// and has no dot.
func NewProcess(name string) *Process { return &Process{name: name, alive: map[string]bool{}} }

// Begin names an author. It lives as long as the process, or until it ends.
func (p *Process) Begin(time.Time) (author string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	author = p.name + "." + strconv.Itoa(p.last)
	p.alive[author] = true
	return author, time.Time{}
}

// End says that an author puts no more records.
func (p *Process) End(author string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.alive, author)
}

// Dead says whether an author has certainly ended: by itself, by its deadline, or with its process.
func (p *Process) Dead(author string, until, now time.Time) bool {
	if !until.IsZero() && !now.Before(until) {
		return true
	}
	if process, _, _ := strings.Cut(author, "."); process != p.name {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.alive[author]
}
