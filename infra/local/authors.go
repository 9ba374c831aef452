package local

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// authors knows every author of this process. A store has one process at a time (it is locked), so an author of another
// process is dead.
type authors struct {
	process string
	mu      sync.Mutex
	last    int
	alive   map[string]bool
}

func newAuthors(process string) *authors {
	return &authors{process: process, alive: map[string]bool{}}
}

// Begin names an author. It lives as long as the process, or until it ends.
func (a *authors) Begin(time.Time) (author string, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	author = a.process + "." + strconv.Itoa(a.last)
	a.alive[author] = true
	return author, time.Time{}
}

// End says that an author puts nothing any more.
func (a *authors) End(author string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.alive, author)
}

// Dead says whether an author has ended: it did so itself, or handed over, or died with its process.
func (a *authors) Dead(author string, until, now time.Time) bool {
	if !until.IsZero() && !now.Before(until) {
		return true
	}
	if process, _, _ := strings.Cut(author, "."); process != a.process {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.alive[author]
}
