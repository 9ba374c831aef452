package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// migrations make each version of the schema from the one before; the first makes it from nothing. One that was released
// is never changed.
func migrations() []string {
	return []string{schema1, schema2, schema3, schema4, schema5, schema6, schema7}
}

// A run has a number, in order of creation. Each of its generations has a stream: the first one the run's own number, the
// others a number of their own, from the same count. A record's key is its stream and its number (see place).
//
// The order of columns is for reading: what a listing filters by comes before what may be long.
const schema1 = `
CREATE TABLE run(
  number     INTEGER PRIMARY KEY,
  run        TEXT    NOT NULL UNIQUE,
  generation INTEGER NOT NULL,
  stream     INTEGER NOT NULL, -- of that generation
  status     TEXT    NOT NULL,
  started    INTEGER NOT NULL, -- nanoseconds since 1970
  closed     INTEGER NOT NULL, -- likewise; 0: open
  block      BLOB,             -- JSON; null: it is not blocked
  workflow   TEXT    NOT NULL,
  attributes BLOB,             -- JSON object; null: none
  summary    BLOB    NOT NULL  -- JSON, all of it but the block
);
CREATE INDEX run_started  ON run(started);
CREATE INDEX run_status   ON run(status, started);
CREATE INDEX run_workflow ON run(workflow, started);
CREATE INDEX run_blocked  ON run(started) WHERE block IS NOT NULL;
CREATE TABLE generation( -- those after the first
  run        INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  stream     INTEGER NOT NULL,
  PRIMARY KEY(run, generation)
) WITHOUT ROWID;
CREATE TABLE record( -- appended to: records of many runs share pages, and so flushes
  position INTEGER PRIMARY KEY,
  key      INTEGER NOT NULL,
  record   BLOB    NOT NULL
);
CREATE UNIQUE INDEX record_key ON record(key);
CREATE TABLE inbox(
  run   INTEGER NOT NULL,
  key   TEXT    NOT NULL,
  stamp INTEGER NOT NULL,
  event BLOB    NOT NULL,
  PRIMARY KEY(run, key)
) WITHOUT ROWID;
CREATE TABLE task(
  run        TEXT    NOT NULL,
  generation INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  state      BLOB    NOT NULL, -- JSON
  PRIMARY KEY(run, generation, seq)
) WITHOUT ROWID;
CREATE TABLE due(
  second     INTEGER NOT NULL, -- since 1970
  nanosecond INTEGER NOT NULL, -- of that second
  run        TEXT    NOT NULL,
  generation INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  PRIMARY KEY(second, nanosecond, run, generation, seq)
) WITHOUT ROWID;
CREATE TABLE garbage(stream INTEGER PRIMARY KEY); -- whose records are to be deleted
CREATE TABLE opened(process INTEGER PRIMARY KEY); -- a row, while a process has the file
`

// schema2 finds the runs whose time is over, however long they took.
const schema2 = `
CREATE INDEX run_closed ON run(closed) WHERE closed > 0;
`

// A seal is a value that is known, sealed with each key that there are values of: see prove.
const schema3 = `
CREATE TABLE seal(
  proof BLOB    PRIMARY KEY,
  until INTEGER NOT NULL -- the last run that may have values sealed so
) WITHOUT ROWID;
`

// schema4 has a place of its own for what no save of a task's state takes back.
const schema4 = `
ALTER TABLE task ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0; -- 1: the run asked it to stop
`

// A note says which record took a message whose id a caller chose.
const schema5 = `
CREATE TABLE note(
  run        INTEGER NOT NULL,
  key        TEXT    NOT NULL, -- of the inbox item
  generation INTEGER NOT NULL,
  record     INTEGER NOT NULL,
  PRIMARY KEY(run, key)
) WITHOUT ROWID;
`

// schema6 has the catalog. A version's status alone changes.
const schema6 = `
CREATE TABLE definition(
  name    TEXT    NOT NULL,
  version INTEGER NOT NULL,
  status  TEXT    NOT NULL,
  about   BLOB    NOT NULL, -- JSON: all but the source
  source  BLOB    NOT NULL, -- JSON: all of it
  PRIMARY KEY(name, version)
);
`

// schema7 has the workers that offer services over HTTP.
const schema7 = `
CREATE TABLE worker(
  url        TEXT    PRIMARY KEY,
  id         TEXT    NOT NULL,
  services   BLOB    NOT NULL, -- JSON array
  load       INTEGER NOT NULL,
  heartbeat  INTEGER NOT NULL, -- nanoseconds since 1970
  registered INTEGER NOT NULL  -- likewise
);
`

// applicationID marks a file as ours, in its header: "RPRS".
const applicationID = 0x52505253

// checkTime limits how long the check for damage takes.
const checkTime = 5 * time.Second

// numberBits of a key are the record's number; the others its stream.
const numberBits = 24

// maxNumber is the highest number that a record can have: 16,777,215.
const maxNumber = 1<<numberBits - 1

// place is the key of a record.
func place(stream int64, number int) int64 { return stream<<numberBits | int64(number) }

// fileOf gives the file that a path means, and makes its folder.
func fileOf(path string) (string, error) {
	if path == "" {
		return "", fault("a store needs a path: name a folder or a file")
	}
	file, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s is no path: %w", path, err)
	}
	info, err := os.Stat(file)
	folder := err == nil && info.IsDir()
	if folder || err != nil && (filepath.Ext(file) == "" || strings.HasSuffix(path, string(filepath.Separator))) {
		file = filepath.Join(file, "reprise.db")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", fault("the folder of %s cannot be made: make it, or choose another one", file, err)
	}
	return file, nil
}

// private makes a file that is missing, for its owner alone; the one beside it (WAL) gets the same mode. One that is there is not
// so much as opened: closing it again would take this process's own locks off.
func private(file string) error {
	made, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return made.Close()
}

// doubt is whether a file is to be checked for damage when it is opened: that takes seconds, in which nobody else is served.
type doubt int

const (
	unlessClosed doubt = iota // if the last process did not close it
	never                     // this process has it, and lost only the connection
	always                    // this process has seen damage
)

// open opens the file, makes or migrates the schema, and checks it.
func open(file string, check doubt) (*connection, error) {
	if err := checkPair(file); err != nil {
		return nil, err
	}
	logGone := check == unlessClosed && missing(file+"-wal")
	if err := private(file); err != nil {
		return nil, fault("%s cannot be made: give this user access, or choose another file", file, err)
	}
	db, err := connect(file)
	if err != nil {
		return nil, explain(file, err)
	}
	err = db.enter(file, check, logGone)
	if err != nil { // the first error is the one to report
		if !errors.Is(err, errLogGone) { // SQLite has made it anew, empty, and deletes it now
			_ = db.keepWAL()
		}
		_ = db.close()
		return nil, explain(file, err)
	}
	return db, nil
}

func (c *connection) enter(file string, check doubt, logGone bool) error {
	// EXCLUSIVE: one process, one connection, and no shared memory beside the file. FULL: a commit is flushed when it
	// returns. The cache is 64 MB.
	err := c.script(`PRAGMA page_size=` + strconv.Itoa(pageSize) + `; PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL; PRAGMA cache_size=-8192;
		PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=1000`)
	if err != nil {
		return err
	}
	version, err := c.version(file) // from here on, the file is this process's alone
	if err != nil {
		return err
	}
	if err := checkWAL(file); err != nil {
		return err
	}
	if version == 0 { // a file that is made now can give back what is free
		if err := c.script("PRAGMA auto_vacuum=INCREMENTAL"); err != nil {
			return err
		}
	}
	if err := c.script("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if err := c.migrate(version); err != nil {
		return err
	}
	opened, err := c.number("SELECT count(*) FROM opened")
	if err != nil {
		return err
	}
	if logGone && opened > 0 {
		return lostLog(file)
	}
	if check == always || check == unlessClosed && opened > 0 {
		if err := c.check(file); err != nil {
			return err
		}
	}
	if _, err = c.exec("INSERT OR REPLACE INTO opened VALUES(?)", int64(os.Getpid())); err != nil || check != unlessClosed {
		return err
	}
	return c.script("PRAGMA wal_checkpoint(TRUNCATE)") // the database says by itself that it is open: see checkLog
}

// leave says that the file is closed in good order.
func (c *connection) leave() error {
	_, err := c.exec("DELETE FROM opened")
	return err
}

// version reads the schema's version, and refuses files that are not ours before anything is written to them.
func (c *connection) version(file string) (int64, error) {
	tables, err := c.number("SELECT count(*) FROM sqlite_master")
	if err != nil {
		return 0, err
	}
	application, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	if tables > 0 && application != applicationID {
		return 0, fault("%s is a database of another program: choose another file", file)
	}
	if newest := int64(len(migrations())); version > newest {
		return 0, fault("%s has schema version %d, and this program knows versions up to %d: run the newer program that wrote it, "+
			"or choose another file", file, version, newest)
	}
	return version, nil
}

func (c *connection) migrate(version int64) error {
	all := migrations()
	if version == int64(len(all)) {
		return nil
	}
	text := "BEGIN IMMEDIATE;" + strings.Join(all[version:], "") +
		fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", applicationID, len(all))
	return c.script(text)
}

// check looks for damage, for a limited time: a large file is then checked in part, and whatever is read of the rest is
// still checked for being a record.
func (c *connection) check(file string) error {
	ctx, stop := context.WithTimeout(context.Background(), checkTime)
	defer stop()
	rows, err := c.conn.(driver.QueryerContext).QueryContext(ctx, "PRAGMA quick_check(1)", nil)
	if err == nil {
		row := make([]driver.Value, 1)
		err = errors.Join(rows.Next(row), rows.Close())
		if err == nil && row[0] != "ok" {
			return damaged(file, fmt.Errorf("%v", row[0]))
		}
	}
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// lastNumber gives the highest number in use.
func lastNumber(c *connection) (int64, error) {
	return c.number(`SELECT max(
		(SELECT ifnull(max(number), 0) FROM run),
		(SELECT ifnull(max(stream), 0) FROM generation),
		(SELECT ifnull(max(stream), 0) FROM garbage))`)
}
