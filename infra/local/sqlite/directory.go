package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

const (
	defaultPage = 100     // runs in a page, where no limit is asked for
	maxPage     = 1000    // runs in a page
	scanned     = 128     // rows looked at while writers wait
	listBytes   = 4 << 20 // of the summaries in a page, and then one more
)

// List reads at most 128 rows at a time, and lets a group of writers have its turn in between.
// Status, workflow and blocked runs have an index each. List compares attributes and versions with
// the rows that the index gives. A page holds at most 1,000 runs and about 4 MB: it may be shorter
// than the limit.
func (s *Store) List(
	ctx context.Context, query port.ListQuery,
) (page []*port.Summary, next string, err error) {
	l := &listing{query: query, at: spot{math.MaxInt64, math.MaxInt64},
		limit: min(query.Limit, maxPage)}
	if l.limit <= 0 {
		l.limit = defaultPage
	}
	if query.Cursor != "" {
		if l.at, err = parseSpot(query.Cursor); err != nil {
			return nil, "", err
		}
	}
	for end := false; !end; {
		err := s.read(ctx, func(db *connection) (err error) {
			end, err = l.step(db)
			return err
		})
		if err == nil && !end {
			err = s.submit(nil) // a turn for those who wait to write
		}
		if err != nil {
			return nil, "", err
		}
	}
	for _, found := range l.found {
		summary, err := s.listed(ctx, found)
		if err != nil {
			return nil, "", err
		}
		if summary != nil {
			page = append(page, summary)
		}
	}
	if l.more {
		next = l.last.String()
	}
	return page, next, nil
}

// listed gives a summary as a list shows it, without long values. Those that are long themselves
// are read one at a time, so that a list of many holds no more than one of them in memory. Nil: the
// run was deleted meanwhile.
func (s *Store) listed(ctx context.Context, found storedSummary) (*port.Summary, error) {
	if found.text == nil {
		s.long.Lock()
		defer s.long.Unlock()
		there := false
		err := s.read(ctx, func(db *connection) error {
			return db.rows("SELECT "+summaryColumns+" FROM run WHERE run = ?", func(row []driver.Value) bool {
				found, there = summaryOf(row), true
				return false
			}, found.apart.Run)
		})
		if err != nil || !there {
			return nil, err
		}
	}
	summary, err := port.Shown(s.decodeSummary(ctx, found))
	if err != nil {
		return nil, err
	}
	return summary.LeaveOut(port.LongestListed), nil
}

// spot is a run's place in listings: by the time of its start, then of its creation.
type spot struct{ started, number int64 }

func (p spot) String() string { return fmt.Sprintf("%d.%d", p.started, p.number) }

func parseSpot(cursor string) (p spot, err error) {
	if _, err := fmt.Sscanf(cursor, "%d.%d", &p.started, &p.number); err != nil ||
		p.String() != cursor {
		return p, &port.Error{Code: port.Invalid,
			Message: fmt.Sprintf("%.100q is no cursor of a listing: take it from the page before",
				cursor)}
	}
	return p, nil
}

// listing is a page in the making.
type listing struct {
	query port.ListQuery
	limit int
	at    spot // looked at last
	last  spot // of the page
	found []storedSummary
	size  int
	more  bool
}

// step looks at some rows, and says whether the page is complete.
func (l *listing) step(db *connection) (complete bool, err error) {
	var spots []spot
	rows := 0
	text, args := l.statement()
	err = db.rows(text, func(row []driver.Value) bool {
		rows++
		l.at = spot{row[1].(int64), row[0].(int64)}
		if l.matches(row) {
			spots = append(spots, l.at)
		}
		return len(l.found)+len(spots) <= l.limit // one more than the page says that there is a next one
	}, args...)
	if err != nil {
		return false, err
	}
	for _, at := range spots {
		if l.more = len(l.found) == l.limit || l.size > listBytes; l.more {
			return true, nil
		}
		err := db.rows("SELECT "+shortSummary+" FROM run WHERE number = ?", func(row []driver.Value) bool {
			found := summaryOf(row)
			l.found, l.size, l.last = append(l.found, found), l.size+len(found.text), at
			return false
		}, at.number)
		if err != nil {
			return false, err
		}
	}
	return rows < scanned, nil
}

// shortSummary is summaryColumns without a text that is long.
const shortSummary = "CASE WHEN length(summary) <= 65536 THEN summary END, " + besideSummary

// Each of these reads one index backwards.
const (
	listColumns = "SELECT number, started, status, workflow, block IS NOT NULL, attributes, " +
		"CASE WHEN ? AND json_valid(CAST(summary AS TEXT)) " + // the version, if it is asked for
		"THEN json_extract(CAST(summary AS TEXT), '$.definition') END FROM run INDEXED BY "
	listOrder    = "(started, number) < (?, ?) ORDER BY started DESC, number DESC LIMIT ?"
	listBlocked  = listColumns + "run_blocked WHERE block IS NOT NULL AND " + listOrder
	listWorkflow = listColumns + "run_workflow WHERE workflow = ? AND " + listOrder
	listStatus   = listColumns + "run_status WHERE status = ? AND " + listOrder
	listAll      = listColumns + "run_started WHERE " + listOrder
)

func (l *listing) statement() (text string, args []any) {
	args = []any{l.query.Definition != 0}
	switch {
	case l.query.Blocked:
		text = listBlocked
	case l.query.Workflow != "":
		text, args = listWorkflow, append(args, l.query.Workflow)
	case l.query.Status != "":
		text, args = listStatus, append(args, string(l.query.Status))
	default:
		text = listAll
	}
	return text, append(args, l.at.started, l.at.number, int64(scanned))
}

// matches makes as much of a summary as the query asks for.
func (l *listing) matches(row []driver.Value) bool {
	summary := &port.Summary{Status: history.Status(row[2].(string)), Workflow: row[3].(string)}
	if row[4] == int64(1) {
		summary.Blocked = &port.Block{}
	}
	if version, ok := row[6].(int64); ok {
		summary.Definition = int(version)
	}
	if text, _ := row[5].([]byte); len(l.query.Attributes) > 0 && text != nil && json.Unmarshal(text, &summary.Attributes) != nil {
		return false
	}
	return l.query.Matches(summary)
}
