package dynamo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/port"
)

const (
	defaultPage = 100  // runs in a page, where no limit is asked for
	longestPage = 1000 // runs in a page
	// listBytes is how much the values of a page hold, and then one more summary's.
	listBytes = 4 << 20
	// candidates is how many summaries one page reads at most to find those that match.
	candidates = 1000
)

// List reads the latest rows of an index, shard by shard, merges them (merge.go), and reads their
// summaries, since the rows are those of a moment ago. An index finds runs by status, and blocked
// runs. List compares workflows with the index, and attributes and versions with the summaries. A
// page holds 1,000 runs and about 4 MB at most. It may hold few runs, or none, where List had to
// read many to find those that match: the next page continues from there.
//
// An index follows the table after a moment, so a run that was created or has ended just now may be missing.
func (s *Store) List(
	ctx context.Context, query port.ListQuery,
) (page []*port.Summary, next string, err error) {
	limit := min(query.Limit, longestPage)
	if limit <= 0 {
		limit = defaultPage
	}
	at := ""
	if query.Cursor != "" {
		if at, err = parseCursor(query.Cursor); err != nil {
			return nil, "", err
		}
	}
	m := s.newMerge(query, at, limit)
	looked, size := 0, 0
	for looked < candidates && size < listBytes {
		wanted := min(limit-len(page), readsInBatch)
		if len(query.Attributes) > 0 || query.Definition != 0 {
			wanted = readsInBatch
		}
		places, err := m.next(ctx, wanted)
		if err != nil {
			return nil, "", err
		}
		if len(places) == 0 {
			break
		}
		looked += len(places)
		found, err := s.summariesAt(ctx, m.call, places)
		if err != nil {
			return nil, "", err
		}
		for i, summary := range found {
			if summary != nil && query.Matches(summary.Summary) {
				page, size = append(page, summary.Summary), size+summary.bytes
			}
			if len(page) == limit || size > listBytes {
				return page, m.cursor(places[i].key, i == len(places)-1), nil
			}
		}
	}
	return page, m.cursor("", true), nil
}

// listed is a summary, and how many bytes its values have.
type listed struct {
	*port.Summary
	bytes int
}

// summariesAt reads the summaries of runs; nil where there is none any more, or where it is in another place by now.
func (s *Store) summariesAt(ctx context.Context, c call, places []place) ([]*listed, error) {
	runs := make([]string, len(places))
	for i, p := range places {
		runs[i] = p.run
	}
	rows, err := s.getSummaries(ctx, c, runs)
	if err != nil {
		return nil, err
	}
	found := make([]*listed, len(places))
	err = each(ctx, len(places), func(ctx context.Context, i int) error {
		r := rows[places[i].run]
		if !isRun(r) || textOf(r, "started") != places[i].key {
			return nil
		}
		summary, err := s.readListed(ctx, r)
		if err == nil {
			found[i] = &listed{summary, summary.Bytes()}
		}
		return err
	})
	return found, err
}

// A cursor is the place of the last run that was looked at. It is encoded since it travels in addresses.
func cursorOf(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func parseCursor(cursor string) (key string, err error) {
	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		key = string(decoded)
		started, run, _ := strings.Cut(key, "#")
		if _, err = time.Parse(sortableTime, started); err == nil &&
			(run == "" || len(run) > port.LongestID || !utf8.ValidString(run)) {
			err = errors.New("it names no run")
		}
	}
	if err != nil {
		return "", &port.Error{Code: port.Invalid,
			Message: fmt.Sprintf("%.100q is no cursor of a listing: take it from the page before",
				cursor)}
	}
	return key, nil
}
