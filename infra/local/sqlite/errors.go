package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/reprise-run/reprise/core/port"
)

var (
	errClosed   = fault("the store is closed", port.ErrUnavailable)
	errMistyped = errors.New("a column has a value of another type than it was given")
)

// Error says which file, what happened, and what to do. errors.Is finds [port.ErrUnavailable] in it
// where trying again may help.
type Error struct {
	message string
	causes  []error
}

func (e *Error) Error() string { return e.message }

// Unwrap gives what caused it.
func (e *Error) Unwrap() []error { return e.causes }

// fault makes an error of a message. Arguments that are errors come last: they are its causes, and no part of the text.
func fault(format string, args ...any) error {
	e := &Error{}
	for len(args) > 0 {
		cause, ok := args[len(args)-1].(error)
		if !ok {
			break
		}
		e.causes, args = append(e.causes, cause), args[:len(args)-1]
	}
	e.message = fmt.Sprintf(format, args...)
	return e
}

// explain turns an error of SQLite into one for people. Others, and nil, stay as they are.
func explain(file string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errMistyped) {
		return damaged(file, err)
	}
	var cause *sqlite.Error
	if explained := (*Error)(nil); errors.As(err, &explained) || !errors.As(err, &cause) {
		return err
	}
	switch primary(err) {
	case sqlite3.SQLITE_FULL:
		return fault("%s: the disk is full, nothing was stored: free some space, and it goes on "+
			"by itself", file, port.ErrUnavailable, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault("%s is in use by another process: stop that one, or choose another file", file,
			port.ErrUnavailable, err)
	case sqlite3.SQLITE_NOTADB:
		return fault("%s is no database: choose another file, or move it away", file, err)
	case sqlite3.SQLITE_CORRUPT:
		return damaged(file, err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH:
		return fault("%s cannot be opened for writing: check the permissions of the file and of "+
			"its folder", file, port.ErrUnavailable, err)
	case sqlite3.SQLITE_TOOBIG:
		return &port.Error{Code: port.TooLarge, Message: "over SQLite's limit of 1 GB for one " +
			"value: pass a reference to it instead"}
	case sqlite3.SQLITE_NOMEM:
		return fault("%s: out of memory, nothing was stored: give the process more, or the "+
			"machine less to do", file, port.ErrUnavailable, err)
	}
	return fault("%s: the disk failed (%s), nothing is known to be stored: check the disk; it goes on by itself",
		file, cause.Error(), port.ErrUnavailable, err)
}

func damaged(file string, cause error) error {
	return fault("%s is damaged (%s): put a copy of it in its place, and delete %s-wal if that is there; or save what can be saved with "+
		"`sqlite3 %s .recover`", file, cause.Error(), file, file, port.ErrUnavailable, cause)
}

// unavailable marks an error that prevented a write.
func unavailable(err error) error {
	if err == nil || errors.Is(err, port.ErrUnavailable) {
		return err
	}
	return fault("%s", err.Error(), port.ErrUnavailable, err)
}

// primary gives the first byte of SQLite's extended code; 0 for other errors.
func primary(err error) int {
	if cause := (*sqlite.Error)(nil); errors.As(err, &cause) {
		return cause.Code() & 0xff
	}
	return 0
}

// conflicts says that a row of this key is there. SQLite has undone the statement, and the transaction goes on.
func conflicts(err error) bool { return primary(err) == sqlite3.SQLITE_CONSTRAINT }

// spoils says that an error ends the transaction and not just one write of it: SQLite may have rolled it back already, and
// what is executed after that would commit on its own.
func spoils(err error) bool { code := primary(err); return code != 0 && code != sqlite3.SQLITE_TOOBIG }
