package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"modernc.org/sqlite"

	"github.com/reprise-run/reprise/core/port"
)

// backupPages is how many pages one step of a backup copies: others wait for the store so long.
const backupPages = 256

// backup is one that is being made.
type backup struct {
	copying *sqlite.Backup
	broken  bool // the connection is gone that it copied from
}

var errBroken = fault("the backup ended early, since the database was opened again: begin "+
	"another one", port.ErrUnavailable)

// Backup copies the store while it is in use, and gives the copy: a database that [Open] opens,
// with all that was accepted before the call. The file has no name any more, and is gone once it is
// closed. It needs as much room beside the database as that has. One backup is made at a time.
func (s *Store) Backup(ctx context.Context) (_ *os.File, err error) {
	s.backups.Lock()
	defer s.backups.Unlock()
	if err := s.submit(nil); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(s.file), ".reprise-backup-*")
	if err != nil {
		return nil, fault("no place was found for a backup beside %s", s.file,
			port.ErrUnavailable, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "reprise.db")
	if err := s.copyTo(ctx, file); err != nil {
		return nil, unavailable(explain(file, err))
	}
	if err := closeCopy(file); err != nil {
		return nil, unavailable(explain(file, err))
	}
	return os.Open(file)
}

// copyTo copies page by page. What is written meanwhile is written to the copy, too, by SQLite
// itself.
func (s *Store) copyTo(ctx context.Context, file string) (err error) {
	if err := private(file); err != nil {
		return err
	}
	b, err := s.beginBackup(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.endBackup(b)) }()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = s.step(b); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return nil
}

func (s *Store) beginBackup(file string) (*backup, error) {
	if err := s.use(); err != nil {
		return nil, err
	}
	defer s.table.Unlock()
	from, ok := s.db.conn.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return nil, errors.New("this driver of SQLite makes no backups")
	}
	copying, err := from.NewBackup(uri(file))
	if err != nil {
		return nil, err
	}
	s.backup = &backup{copying: copying}
	return s.backup, nil
}

func (s *Store) step(b *backup) (more bool, err error) {
	s.table.Lock()
	defer s.table.Unlock()
	if b.broken {
		return false, errBroken
	}
	return b.copying.Step(backupPages)
}

func (s *Store) endBackup(b *backup) error {
	s.table.Lock()
	defer s.table.Unlock()
	if b.broken {
		return nil
	}
	s.backup = nil
	return b.copying.Finish()
}

// breakBackup ends a backup before its connection is closed. The table is held.
func (s *Store) breakBackup() {
	if s.backup != nil {
		_ = s.backup.copying.Finish()
		s.backup.broken, s.backup = true, nil
	}
}

// closeCopy has the copy say that it was closed in good order: it is whole without a write-ahead
// log.
func closeCopy(file string) error {
	db, err := connect(file)
	if err != nil {
		return err
	}
	err = db.script("PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL")
	if err == nil {
		err = db.leave()
	}
	return errors.Join(err, db.close())
}

// removeBackups removes what a process left that ended while it made a backup.
func removeBackups(file string) {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".reprise-backup-*"))
	for _, folder := range left {
		_ = os.RemoveAll(folder)
	}
}
