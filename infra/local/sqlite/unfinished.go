package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// openStatuses are those of runs to which more can happen. A run that goes on in a new generation is running; the other
// two are for the record.
func openStatuses() []history.Status {
	return []history.Status{history.Running, history.ContinuedAsNew, history.WasReset}
}

// Unfinished gives open runs by status; then closed ones with items on disk; then those with items in memory. The cursor
// begins with the name of the part.
func (s *Store) Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error) {
	part, rest, _ := strings.Cut(cursor, " ")
	if part == "" {
		part = string(openStatuses()[0])
	}
	if at := slices.Index(openStatuses(), history.Status(part)); at >= 0 {
		return s.open(ctx, at, rest)
	}
	switch part {
	case "inbox":
		return s.closedOnDisk(ctx, rest)
	case "memory":
		return s.closedInMemory(ctx)
	}
	return nil, "", noCursor(cursor)
}

func noCursor(cursor string) error {
	return &port.Error{Code: port.Invalid,
		Message: fmt.Sprintf("%.100q is no cursor of unfinished runs: take it from the page before",
			cursor)}
}

func (s *Store) open(ctx context.Context, part int, rest string) (runs []string, next string, err error) {
	at := spot{math.MaxInt64, math.MaxInt64}
	if rest != "" {
		if at, err = parseSpot(rest); err != nil {
			return nil, "", err
		}
	}
	status := string(openStatuses()[part])
	err = s.read(ctx, func(db *connection) error {
		return db.rows("SELECT started, number, run FROM run INDEXED BY run_status WHERE status = ? AND "+listOrder, func(row []driver.Value) bool {
			at = spot{row[0].(int64), row[1].(int64)}
			runs = append(runs, row[2].(string))
			return true
		}, status, at.started, at.number, int64(maxPage))
	})
	switch {
	case err != nil:
		return nil, "", err
	case len(runs) == maxPage:
		return runs, status + " " + at.String(), nil
	case part+1 < len(openStatuses()):
		return runs, string(openStatuses()[part+1]), nil
	}
	return runs, "inbox", nil
}

func (s *Store) closedOnDisk(ctx context.Context, rest string) (runs []string, next string, err error) {
	var last int64
	if rest != "" {
		if last, err = strconv.ParseInt(rest, 10, 64); err != nil {
			return nil, "", noCursor("inbox " + rest)
		}
	} else if err := s.submit(nil); err != nil { // what was deleted is to be deleted on disk, too
		return nil, "", err
	}
	rows := 0
	err = s.read(ctx, func(db *connection) error {
		return db.rows(`SELECT DISTINCT inbox.run, run.run, run.status FROM inbox JOIN run ON run.number = inbox.run
			WHERE inbox.run > ? ORDER BY inbox.run LIMIT ?`, func(row []driver.Value) bool {
			rows++
			last = row[0].(int64)
			if history.Status(row[2].(string)).Closed() {
				runs = append(runs, row[1].(string))
			}
			return true
		}, last, int64(maxPage))
	})
	if err == nil && rows == maxPage {
		return runs, fmt.Sprintf("inbox %d", last), nil
	}
	return runs, "memory", err
}

// closedInMemory gives closed runs whose items are all in memory, on one page: they are there anyway.
func (s *Store) closedInMemory(ctx context.Context) (runs []string, next string, err error) {
	var names []string
	s.hot.mu.Lock()
	for name, r := range s.hot.byName {
		if len(r.inbox) > 0 {
			names = append(names, name)
		}
	}
	s.hot.mu.Unlock()
	slices.Sort(names)
	for _, name := range names {
		r, err := s.pin(ctx, name)
		if err != nil {
			return nil, "", err
		}
		s.hot.mu.Lock()
		if r.summary.Status.Closed() && r.onlyInMemory() {
			runs = append(runs, name)
		}
		s.hot.release(r)
		s.hot.mu.Unlock()
	}
	return runs, "", nil
}

func (r *run) onlyInMemory() bool {
	for _, item := range r.inbox {
		if item.Durable {
			return false
		}
	}
	return len(r.inbox) > 0
}
