package sqlite

import (
	"runtime"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// change is one write. It takes part in a transaction with others, and sees what those before it did.
type change interface {
	// apply runs inside the transaction. An error that is not SQLite's concerns this change alone, which must then have
	// left no trace.
	apply(db *connection) error
	// publish shows the change to readers of what is in memory, once it is on disk. It holds the mutex of hot.
	publish()
}

// write is a change in the queue.
type write struct {
	change change // nil: only wait until all before it is flushed
	err    error
	wake   chan bool // true: lead the next group; false: it is done. Nil: nobody waits
}

// queue gathers writes into groups. The first writer that waits leads: it commits for all, then passes the lead on. So a
// lone writer never changes goroutine, and no goroutine stands by.
type queue struct {
	mu      sync.Mutex
	waiting []*write
	spare   []*write
	busy    bool
	stopped bool

	ride   time.Duration
	flush  func()
	timer  *time.Timer // runs flush; nil: not needed
	check  *time.Timer // looks at the files
	failed bool        // the last group
}

// writes are used again: each has a channel.
var writes = sync.Pool{New: func() any { return &write{wake: make(chan bool, 1)} }}

// submit returns when the change is on disk, or with the reason why it is not.
func (s *Store) submit(c change) error {
	w := writes.Get().(*write)
	w.change, w.err = c, nil
	q := &s.queue
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	if q.busy {
		q.mu.Unlock()
		if !<-w.wake {
			return w.done()
		}
		q.mu.Lock()
	}
	q.busy = true
	// Whoever is about to write gets the processor first, until nobody new arrives. A lone writer waits for one yield.
	for yields, before := 0, 0; yields < 8 && len(q.waiting) != before; yields++ {
		before = len(q.waiting)
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
	group := q.waiting
	q.waiting, q.spare = q.spare[:0], nil // two leaders must never share one array
	q.mu.Unlock()

	again := s.commit(group)
	q.next(again, w, group)
	return w.done()
}

func (w *write) done() error {
	err := w.err
	w.change, w.err = nil, nil
	writes.Put(w)
	return err
}

// next passes the lead on, then wakes those whose write is done. What rode along with a group that failed is queued again.
func (q *queue) next(again []*write, leader *write, group []*write) {
	q.mu.Lock()
	q.failed = len(again) > 0
	if q.failed {
		q.waiting = append(again, q.waiting...)
	}
	var heir *write
	for _, w := range q.waiting {
		if w.wake != nil {
			heir = w
			break
		}
	}
	if q.busy = heir != nil; !q.busy {
		q.later()
	}
	q.mu.Unlock()
	if heir != nil {
		heir.wake <- true // before the others: it yields to them anyway
	}
	for i, w := range group {
		if w != leader && w.wake != nil {
			w.wake <- false
		}
		group[i] = nil
	}
	q.mu.Lock()
	q.spare = group[:0]
	q.mu.Unlock()
}

// along queues a change that nobody waits for: the next group takes it with it, or else a timer.
func (s *Store) along(c change) {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, &write{change: c})
	if !q.busy {
		q.later()
	}
}

// later has what is queued flushed after a while, if anything is.
func (q *queue) later() {
	if len(q.waiting) == 0 || q.timer != nil || q.stopped {
		return
	}
	wait := q.ride
	if q.failed {
		wait = max(wait, time.Second)
	}
	q.timer = time.AfterFunc(wait, func() {
		q.mu.Lock()
		q.timer = nil
		idle := q.busy || q.stopped || len(q.waiting) == 0
		q.mu.Unlock()
		if !idle {
			q.flush()
		}
	})
}

func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	if q.check != nil {
		q.check.Stop()
	}
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
}

// commit makes one transaction of a group, and gives back what is to be tried again.
func (s *Store) commit(group []*write) (again []*write) {
	err := s.use()
	if err == nil {
		defer s.table.Unlock()
		if err = s.transaction(group); err == nil {
			if err = s.checkLost(); err != nil { // what was committed counts, once it can be kept
				s.hot.distrust()
				return s.refuse(group, err)
			}
			s.hot.mu.Lock()
			for _, w := range group {
				if w.change != nil && w.err == nil {
					w.change.publish()
				}
			}
			s.hot.mu.Unlock()
			return nil
		}
		s.undo(err)
	}
	return s.refuse(group, err)
}

// refuse tells those who wait why their write is not accepted, and gives back what is to be tried
// again.
func (s *Store) refuse(group []*write, err error) (again []*write) {
	err = unavailable(explain(s.file, err))
	s.failing.Store(&err)
	for _, w := range group {
		if w.err = err; w.wake == nil {
			again = append(again, w)
		}
	}
	return again
}

func (s *Store) transaction(group []*write) error {
	if len(group) == 1 && group[0].change == nil {
		return nil
	}
	if _, err := s.db.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, w := range group {
		if w.change == nil {
			continue
		}
		if w.err = w.change.apply(s.db); w.err != nil && spoils(w.err) {
			return w.err
		}
		w.err = explain(s.file, w.err)
	}
	if _, err := s.db.exec("COMMIT"); err != nil {
		return err
	}
	s.failing.Store(nil)
	s.flushes.Add(1)
	s.commits.Add(int64(len(group)))
	return nil
}

// undo rolls back; where SQLite has done so itself, that is an error without meaning. After a full disk the connection is
// as good as before. After anything else it is opened again, which reads the file anew.
func (s *Store) undo(err error) {
	_, _ = s.db.exec("ROLLBACK")
	if primary(err) == sqlite3.SQLITE_FULL {
		return
	}
	if primary(err) == sqlite3.SQLITE_CORRUPT {
		s.doubt = always
	}
	s.disconnect()
}
