package dynamo

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

const (
	// mergeRounds is how often one page goes back to the index at most.
	mergeRounds = 16
	// fewestRows is how many rows of an index one request reads at least; filteredRows where a part of them will not match.
	fewestRows   = 16
	filteredRows = 256
)

// statuses are those that a run may have: one that was reset or continues as new is running. Each costs a page eight requests.
func statuses() []history.Status {
	return append([]history.Status{history.Running}, closedStatuses()...)
}

// place is a run's place in a listing.
type place struct{ key, run string }

// merge gives the rows of several partitions of an index in one order, the latest start first.
type merge struct {
	store   *Store
	call    call
	query   port.ListQuery
	rows    int32 // of one request
	rounds  int
	streams []*stream
	last    string // the place that was given last
}

// stream is one partition of an index, read backward.
type stream struct {
	index, attribute, partition string

	at    string  // read down to here; empty: not at all yet
	ahead []place // read, and not yet given
	ended bool
}

func (s *Store) newMerge(query port.ListQuery, at string, limit int) *merge {
	m := &merge{store: s, call: call{name: "list"}, query: query, last: at}
	listing := statuses()
	if query.Status != "" {
		listing = []history.Status{query.Status}
	}
	for i := range s.shards {
		shard := strconv.Itoa(i)
		if query.Blocked {
			m.streams = append(m.streams, &stream{index: blockedIndex, attribute: "stuck", partition: shard, at: at})
			continue
		}
		for _, status := range listing {
			m.streams = append(m.streams, &stream{index: listingIndex, attribute: "listed", partition: listedKey(status, shard), at: at})
		}
	}
	m.rows = int32(max(fewestRows, 2*limit/len(m.streams)))
	if query.Workflow != "" || query.Definition != 0 || len(query.Attributes) > 0 {
		m.rows = max(m.rows, filteredRows)
	}
	return m
}

// next gives up to so many places more; none at the end, or where too much was read for one page.
func (m *merge) next(ctx context.Context, wanted int) (places []place, err error) {
	for len(places) < wanted {
		best, behind := m.head()
		if len(behind) > 0 {
			if m.rounds == mergeRounds {
				return places, nil
			}
			m.rounds++
			if err := each(ctx, len(behind), func(ctx context.Context, i int) error { return m.read(ctx, behind[i]) }); err != nil {
				return nil, err
			}
			continue
		}
		if best == nil {
			return places, nil
		}
		p := best.ahead[0]
		best.ahead = best.ahead[1:]
		if p.key != m.last { // a run whose status changes is in two partitions for moments
			places = append(places, p)
		}
		m.last = p.key
	}
	return places, nil
}

// head gives the stream whose next place is the latest; and those that must be read on first, since they may have a later one.
func (m *merge) head() (best *stream, behind []*stream) {
	for _, s := range m.streams {
		if len(s.ahead) > 0 && (best == nil || s.ahead[0].key > best.ahead[0].key) {
			best = s
		}
	}
	for _, s := range m.streams {
		if len(s.ahead) == 0 && !s.ended && (best == nil || s.at == "" || s.at > best.ahead[0].key) {
			behind = append(behind, s)
		}
	}
	return best, behind
}

func (m *merge) read(ctx context.Context, s *stream) error {
	in := &dynamodb.QueryInput{
		IndexName: &s.index, KeyConditionExpression: aws.String(s.attribute + " = :partition"), ScanIndexForward: aws.Bool(false),
		ExpressionAttributeValues: row{":partition": text(s.partition)}, Limit: &m.rows,
	}
	if s.at != "" {
		in.KeyConditionExpression = aws.String(*in.KeyConditionExpression + " AND started < :at")
		in.ExpressionAttributeValues[":at"] = text(s.at)
	}
	if m.query.Workflow != "" && s.index == listingIndex {
		in.FilterExpression = aws.String("workflow = :workflow")
		in.ExpressionAttributeValues[":workflow"] = text(m.query.Workflow)
	}
	out, err := m.store.query(ctx, m.call, in)
	if err != nil {
		return err
	}
	for _, r := range out.Items {
		s.ahead = append(s.ahead, place{textOf(r, "started"), runOf(r)})
	}
	s.ended = out.LastEvaluatedKey == nil
	s.at = textOf(out.LastEvaluatedKey, "started")
	return nil
}

// cursor goes on after a place that was looked at, where others that were given were not; or else after all that was given
// or read in vain. It is empty at the end.
func (m *merge) cursor(at string, all bool) string {
	if !all {
		return cursorOf(at)
	}
	best, behind := m.head()
	switch {
	case len(behind) > 0: // what they have not read is before where they stopped, and so before all that was given
		reached := ""
		for _, s := range behind {
			reached = max(reached, s.at)
		}
		return cursorOf(reached)
	case best != nil:
		return cursorOf(m.last)
	}
	return ""
}
