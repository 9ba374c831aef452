// Package sqlite is the durable store of a single process: the ports of core/engine that keep something, on one SQLite
// file.
//
// One connection writes and reads, and owns the file alone. Writes of concurrent callers are
// gathered into one transaction, and so into one flush of the disk (commit.go). Runs that were
// active lately are also kept in memory (hot.go), so that looking at them costs no statement. What
// the log alone can bring back, namely items that are not [port.Item.Durable], lives in memory
// only: it dies with the process, as the queues beside this store do ([port.Ports.Together]).
//
// What was acknowledged is there after any crash, as long as the disk has what it says is flushed. The tail of the write-ahead
// log that a crash or a power cut leaves was never acknowledged, and is dropped. Damage is an error that names the file and what
// to do: a log damaged before its last commit, a database cut short, emptied, or with broken pages (found by the check after a
// process that did not close it, else when they are read). A run with a row that cannot be decoded is blocked alone. What
// nothing here can see: a log that ends earlier than it did, damage within its very last commit, and bytes changed inside of
// a value that is still one.
//
// A write-ahead log that another program deletes is noticed. While the store is open, all that was in
// it goes into the database within [Options.CheckFiles], and nothing is lost unless the process ends
// sooner. Between two processes, the second one refuses to start. A database that is deleted while the store is open is noticed, too: nothing more is
// accepted.
//
// Pages that are freed, by tidied inboxes and by [Store.DeleteClosed], are used again. What is free
// beyond a quarter of the file, DeleteClosed gives back to the disk. A file that an earlier
// program made does not shrink by itself: stop the server, and run
// `sqlite3 FILE 'PRAGMA auto_vacuum=INCREMENTAL; VACUUM'`.
package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-run/reprise/core/seal"
)

// Options of a store. The zero value is ready for use.
type Options struct {
	// HotRuns is how many runs are kept in memory at most, beside those with items that are only there. Zero: 2,048.
	HotRuns int
	// HotBytes is how many bytes the values of these runs may hold together: summaries, and durable
	// items of inboxes. Zero: 64 MB.
	HotBytes int
	// CheckFiles is how often the store looks, while it writes, whether another program has deleted
	// its files. Zero: 100 ms. Negative: with every write.
	CheckFiles time.Duration
	// RideDelay is how long a write that nobody waits for (a deletion, a heartbeat) waits at most for others to be flushed
	// with. Zero: 50 ms.
	RideDelay time.Duration
	// Codec seals the values that are stored. Nil: none is sealed, and a store that has sealed ones is not opened. It may be asked
	// while others wait for the store, and must not take long.
	Codec seal.Codec
	// Logger of what an operator should know. Nil: none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.HotRuns <= 0 {
		o.HotRuns = 2048
	}
	if o.CheckFiles == 0 {
		o.CheckFiles = 100 * time.Millisecond
	}
	if o.HotBytes <= 0 {
		o.HotBytes = 64 << 20
	}
	if o.RideDelay <= 0 {
		o.RideDelay = 50 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store implements [port.Runs], [port.Directory], [port.Due] and [port.Tasks]. It may be used by
// any number of goroutines.
//
// A write has been flushed to disk when its method returns, but for those of Note, Delete, DeleteDue, DeleteTask, and SaveTask of
// an activity that is neither waiting nor cancelled: they show at once, and are flushed with the
// next write or after
// [Options.RideDelay]. A write that has begun is not given up when its context ends: it blocks for as long as the disk does.
//
// Errors of the disk are [port.ErrUnavailable]; the store goes on by itself once there is room
// again.
type Store struct {
	file    string
	options Options

	// table is held by whoever uses the connection: for one transaction, or for reading one page. It comes before the
	// mutexes of hot and queue.
	table  sync.Mutex
	db     *connection // nil: it failed, and is opened again by the next who needs it
	files  files       // that it has open
	lost   error       // the database is gone
	doubt  doubt       // with which it is
	backup *backup     // that copies from it; nil: none
	closed bool
	number int64 // the last one given to a run or a stream

	long  sync.Mutex // held while a list reads a long summary
	hot   hotRuns
	tasks overlay[taskKey, task]
	due   overlay[dueKey, struct{}]
	notes overlay[noteKey, position]

	queue   queue
	backups sync.Mutex // held by whoever makes a backup
	flushes atomic.Int64
	commits atomic.Int64
	failing atomic.Pointer[error] // why the last write failed; nil: it succeeded
}

// Open opens the store in a file, or in the file reprise.db of a folder: a path that ends in a separator, is a folder, or
// has no extension. What is missing is made. The file belongs to this process until [Store.Close].
//
// After a process that did not close it, the file is checked for damage, which takes 5 s at most.
func Open(path string, options Options) (*Store, error) {
	file, err := fileOf(path)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, options: options.withDefaults(), doubt: never}
	s.hot.limit, s.hot.most = s.options.HotRuns, s.options.HotBytes
	s.hot.clear()
	s.queue.ride = s.options.RideDelay
	s.queue.flush = func() { _ = s.submit(nil) } // what failed is queued again, and tells those who wait
	if s.db, err = open(file, unlessClosed); err != nil {
		return nil, err
	}
	if s.files, err = filesOf(file); err == nil {
		s.number, err = lastNumber(s.db)
	}
	if err == nil {
		err = s.prove(s.db)
	}
	if err != nil {
		return nil, errors.Join(explain(file, err), s.db.leave(), s.db.close())
	}
	removeBackups(file)
	s.watchFiles()
	return s, nil
}

// Path is that of the database file.
func (s *Store) Path() string { return s.file }

// Flushes is how many transactions were flushed to disk since Open.
func (s *Store) Flushes() int64 { return s.flushes.Load() }

// Commits is how many writes these transactions held.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Close flushes what rides along, moves all into the one file and gives it free. Closing again does
// nothing. Every other method answers with [port.ErrUnavailable] from then on.
func (s *Store) Close() error {
	flushed := s.submit(nil)
	if errors.Is(flushed, errClosed) {
		return nil
	}
	s.queue.stop()
	s.table.Lock()
	defer s.table.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.hot.clear()
	if s.db == nil {
		return flushed
	}
	s.breakBackup()
	db := s.db
	s.db = nil
	if err := db.leave(); err != nil && flushed == nil {
		flushed = explain(s.file, err)
	}
	if err := db.close(); err != nil && flushed == nil {
		flushed = explain(s.file, err)
	}
	return flushed
}

// use takes the connection, which it opens again if it failed. The caller unlocks table.
func (s *Store) use() error {
	s.table.Lock()
	if s.lost != nil {
		s.table.Unlock()
		return s.lost
	}
	if s.db != nil {
		return nil
	}
	if s.closed {
		s.table.Unlock()
		return errClosed
	}
	if err := s.connect(); err != nil {
		s.table.Unlock()
		return unavailable(err)
	}
	// The transaction that failed may have reached the disk after all.
	s.hot.distrust()
	return nil
}

// connect opens the file again.
func (s *Store) connect() (err error) {
	if s.db, err = open(s.file, s.doubt); err != nil {
		s.db = nil
		return err
	}
	if s.files, err = filesOf(s.file); err != nil {
		s.disconnect()
	}
	return err
}

// disconnect closes the connection: the next caller who needs one opens it again. The write-ahead
// log stays: a process that ends now has not closed the file.
func (s *Store) disconnect() {
	s.breakBackup()
	_, _ = s.db.keepWAL(), s.db.close()
	s.db = nil
}

// read runs a read of one page on the connection.
func (s *Store) read(ctx context.Context, read func(db *connection) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.use(); err != nil {
		return err
	}
	defer s.table.Unlock()
	return explain(s.file, read(s.db))
}
