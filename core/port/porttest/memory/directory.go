package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// defaultPage is the length of a page where none is asked for.
const defaultPage = 100

// listed is a run's place in a listing: by the time of its start, then of its creation.
type listed struct {
	started time.Time
	number  int
	name    string
	summary *port.Summary
	mail    bool
}

func (s *Store) List(
	ctx context.Context, query port.ListQuery,
) (page []*port.Summary, next string, err error) {
	all, err := s.all(ctx)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b listed) int { return b.compare(a) })
	var from listed
	if query.Cursor != "" {
		if from, err = parseCursor(query.Cursor); err != nil {
			return nil, "", err
		}
	}
	limit := query.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	var last listed
	for _, l := range all {
		if query.Cursor != "" && l.compare(from) >= 0 || !query.Matches(l.summary) {
			continue
		}
		if len(page) == limit {
			return page, last.cursor(), nil
		}
		page, last = append(page, l.summary.LeaveOut(port.LongestListed)), l
	}
	return page, "", nil
}

func (s *Store) Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error) {
	all, err := s.all(ctx)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(a.name, b.name) })
	for _, l := range all {
		if l.name <= cursor || l.summary.Status.Closed() && !l.mail {
			continue
		}
		if len(runs) == defaultPage {
			return runs, runs[len(runs)-1], nil
		}
		runs = append(runs, l.name)
	}
	return runs, "", nil
}

func (s *Store) all(ctx context.Context) (all []listed, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, r := range s.runs {
		summary, err := decode(r.summary)
		if err != nil {
			return nil, err
		}
		all = append(all, listed{summary.Started, r.number, name, summary, len(r.inbox) > 0})
	}
	return all, ctx.Err()
}

func (l listed) compare(other listed) int {
	return cmp.Or(l.started.Compare(other.started), cmp.Compare(l.number, other.number))
}

func (l listed) cursor() string {
	return fmt.Sprintf("%d.%09d.%d", l.started.Unix(), l.started.Nanosecond(), l.number)
}

func parseCursor(cursor string) (l listed, err error) {
	var seconds, nanoseconds int64
	if _, err := fmt.Sscanf(cursor, "%d.%d.%d", &seconds, &nanoseconds, &l.number); err == nil {
		l.started = time.Unix(seconds, nanoseconds)
	}
	if l.cursor() != cursor {
		return l, &port.Error{Code: port.Invalid,
			Message: fmt.Sprintf("%.100q is no cursor of a listing: take it from the page before",
				cursor)}
	}
	return l, nil
}
