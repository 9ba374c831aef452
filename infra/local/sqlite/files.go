package sqlite

import (
	"errors"
	"os"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// checkFiles is how often the store looks at its files while there are no writes.
const checkFiles = 5 * time.Second

// files are the database and its write-ahead log as the connection has them open. What another
// program deletes is still there for this process alone: its end would be the end of the data.
type files struct {
	database, log os.FileInfo
	next          time.Time // when to look again
}

func filesOf(file string) (open files, err error) {
	if open.database, err = os.Stat(file); err != nil {
		return open, err
	}
	open.log, err = os.Stat(file + "-wal")
	return open, err
}

// there says whether a path still leads to the file that is open.
func there(path string, open os.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, open)
}

// checkLost looks whether the files are still there, before what was committed to them is accepted.
// Where the write-ahead log is gone, all that was in it goes into the database, and nothing is
// lost. Where the database is gone, the store accepts nothing more. The table is held.
//
// It does not look with every write: a look at a file's times has the next flush store new ones, and
// a flush then takes half as long again (measured on ext4).
func (s *Store) checkLost() error {
	now := time.Now()
	if now.Before(s.files.next) {
		return nil
	}
	s.files.next = now.Add(s.options.CheckFiles)
	switch {
	case !there(s.file, s.files.database):
		s.lost = fault("%s was deleted or replaced while this server has it open: nothing more is accepted. "+
			"Stop the server, put the file or a backup in its place, delete %s-wal, and start again",
			s.file, s.file, port.ErrUnavailable)
		return s.lost
	case !there(s.file+"-wal", s.files.log):
		if err := s.db.script("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
		s.options.Logger.Warn("the write-ahead log was deleted or replaced while the server runs; "+
			"nothing was lost: leave it where it is", "file", s.file+"-wal")
		s.disconnect()
		_ = s.connect() // else the next caller tries
	}
	return nil
}

// watchFiles checks the files again and again until the store is closed, also while it is idle.
func (s *Store) watchFiles() {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	q.check = time.AfterFunc(checkFiles, func() {
		if err := s.submit(nil); err != nil {
			s.options.Logger.Error("the store does not accept writes", "file", s.file, "error", err)
		}
		s.watchFiles()
	})
}

// errLogGone says that what was accepted last is gone.
var errLogGone = errors.New("the write-ahead log is gone")

// lostLog refuses a database that was not closed, and whose write-ahead log is gone: the log had
// what was accepted last. A log that is there and empty is one that had nothing.
func lostLog(file string) error {
	return fault("%s-wal is gone, and the last process did not close %s: writes that it accepted were in that file. "+
		"Put the file back, or put a backup in the place of %s. To continue without these writes, make the file anew, empty: `touch %s-wal`",
		file, file, file, file, errLogGone)
}
