package workflow

// Mutex is a lock that one unit of a run holds at a time: a branch, a handler or the workflow
// function. Units get it in the order in which they asked. The zero value is unlocked. Declare it in
// the workflow function; each run needs its own.
//
// Only code that waits between two accesses to a variable needs it. One unit runs at a time, and
// only calls that wait give the turn to another.
type Mutex struct{ s Semaphore }

// Lock waits until no other unit holds the lock, and takes it. If the context's scope is canceled
// while the unit waits, Lock returns the scope's error without the lock. Give the lock back with
// [Mutex.Unlock], usually by defer.
func (m *Mutex) Lock(ctx Context) error {
	m.s.size = 1
	return m.s.acquire(ctx, "Mutex.Lock", 1)
}

// TryLock takes the lock if it is free and no unit waits for it. It does not wait and says whether
// it took the lock.
func (m *Mutex) TryLock(ctx Context) bool {
	m.s.size = 1
	_, err := m.s.enter(ctx, "Mutex.TryLock", 1)
	return err == nil && m.s.take(1)
}

// Unlock gives the lock back, to the unit that has waited longest if one waits. It does not wait. It
// panics if no unit holds the lock.
func (m *Mutex) Unlock() { m.s.release("Mutex.Unlock", 1) }
