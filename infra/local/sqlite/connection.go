package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime"

	"modernc.org/sqlite"
)

// connection is SQLite's own, without database/sql, whose pool and conversions cost more here than they give. One
// goroutine at a time.
type connection struct {
	conn     driver.Conn
	prepared map[string]*statement // by its text
	args     []driver.NamedValue
}

type statement struct {
	driver.Stmt
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	row   []driver.Value
}

// uri names a file as SQLite wants it.
func uri(file string) string { return "file:" + (&url.URL{Path: file}).EscapedPath() }

func connect(file string) (*connection, error) {
	connector, err := sqlite.NewConnector(uri(file))
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, prepared: map[string]*statement{}}, nil
}

// close closes the statements first: with one left open, SQLite says that all is well and keeps the lock on the file.
func (c *connection) close() (err error) {
	for _, s := range c.prepared {
		err = errors.Join(err, s.Close())
	}
	c.prepared = nil
	return errors.Join(err, c.conn.Close())
}

// keepWAL has closing leave the write-ahead log where it is: as evidence, and so that the next to open the file sees it, too.
func (c *connection) keepWAL() error {
	_, err := c.conn.(sqlite.FileControl).FileControlPersistWAL("main", 1)
	return err
}

// script runs any number of statements without arguments.
func (c *connection) script(text string) error {
	_, err := c.conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}

// exec runs one statement, and says how many rows it changed. Arguments are int64, string, []byte or nil. Contexts that can
// end would cost a goroutine each: there is none.
func (c *connection) exec(text string, args ...any) (changed int64, err error) {
	s, err := c.prepare(text)
	if err != nil {
		return 0, err
	}
	result, err := s.exec.ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// rows runs one query, and hands each row to a function until there is none left or the function wants no more. The row is
// used again for the next one; byte slices in it are the function's own. It may assert the types of columns: one that has
// a value of another type is damage.
func (c *connection) rows(text string, each func(row []driver.Value) (more bool), args ...any) (err error) {
	s, err := c.prepare(text)
	if err != nil {
		return err
	}
	rows, err := s.query.QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		thrown := recover()
		if _, mistyped := thrown.(*runtime.TypeAssertionError); mistyped {
			err = errMistyped
		} else if thrown != nil {
			panic(thrown)
		}
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		err := rows.Next(s.row)
		if errors.Is(err, io.EOF) || err == nil && !each(s.row) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// blob gives a column's bytes. None, where damage has made it something else: whoever decodes them says that they cannot be
// read, and of what run.
func blob(column driver.Value) []byte {
	text, _ := column.([]byte)
	return text
}

// number runs a query for one number; 0 if there is no row.
func (c *connection) number(text string, args ...any) (n int64, err error) {
	err = c.rows(text, func(row []driver.Value) bool {
		n, _ = row[0].(int64)
		return false
	}, args...)
	return n, err
}

func (c *connection) prepare(text string) (*statement, error) {
	if s := c.prepared[text]; s != nil {
		return s, nil
	}
	stmt, err := c.conn.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	s := &statement{Stmt: stmt, exec: stmt.(driver.StmtExecContext), query: stmt.(driver.StmtQueryContext)}
	c.prepared[text] = s
	return s, nil
}

func (c *connection) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, arg := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return c.args
}
