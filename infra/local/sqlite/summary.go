package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

// row is a summary as the table of runs has it.
type row struct {
	*port.Summary
	started, closed int64
	block           any // []byte, or nil for none
	attributes      any // likewise
	text            []byte
}

func (s *Store) newRow(ctx context.Context, summary *port.Summary) (row, error) {
	r := row{Summary: summary, started: nanoseconds(summary.Started)}
	if summary.Status.Closed() {
		r.closed = max(1, nanoseconds(summary.Closed))
	}
	var err error
	if r.block, err = s.encodeBlock(ctx, summary.Run, summary.Blocked); err != nil {
		return r, err
	}
	apart := *summary
	apart.Blocked = nil
	r.text, err = seal.Encode(ctx, s.options.Codec, summary.Run,
		func(e history.Encoder) ([]byte, error) {
			return port.EncodeSummary(e, &apart)
		})
	if err != nil {
		return r, err
	}
	if len(summary.Attributes) > 0 {
		if r.attributes, err = history.Marshal(summary.Attributes); err != nil {
			return r, fmt.Errorf("the attributes of run %q cannot be stored: %w", summary.Run, err)
		}
	}
	return r, nil
}

func (s *Store) encodeBlock(ctx context.Context, run string, block *port.Block) (any, error) {
	if block == nil {
		return nil, nil
	}
	return seal.Encode(ctx, s.options.Codec, run, func(e history.Encoder) ([]byte, error) {
		return port.EncodeBlock(e, block)
	})
}

const insertRun = `INSERT INTO run(number, run, generation, stream, status, started, closed, block, workflow, attributes, summary)
	VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (r *row) insert(db *connection, number int64) error {
	_, err := db.exec(insertRun, number, r.Run, int64(r.Generation), number, string(r.Status), r.started, r.closed, r.block,
		r.Workflow, r.attributes, r.text)
	return err
}

// Updates that write as few indexes as they can: SQLite writes those of every column that is set, changed or not.
const (
	updateData = `UPDATE run SET generation = ?, stream = ?, closed = ?, attributes = ?, summary = ?
		WHERE number = ? AND generation = ? AND started = ? AND workflow = ? AND status = ?`
	updateStatus = `UPDATE run SET generation = ?, stream = ?, closed = ?, attributes = ?, summary = ?, status = ?
		WHERE number = ? AND generation = ? AND started = ? AND workflow = ?`
	updateAll = `UPDATE run SET generation = ?, stream = ?, closed = ?, attributes = ?, summary = ?,
		status = ?, started = ?, workflow = ? WHERE number = ? AND generation = ?`
)

// update replaces the summary of a run that is in a generation. False: it is not.
func (r *row) update(db *connection, number int64, generation int, stream int64, sameStatus bool) (bool, error) {
	if sameStatus {
		n, err := db.exec(updateData, int64(r.Generation), stream, r.closed, r.attributes, r.text,
			number, int64(generation), r.started, r.Workflow, string(r.Status))
		if n > 0 || err != nil {
			return true, err
		}
	}
	n, err := db.exec(updateStatus, int64(r.Generation), stream, r.closed, r.attributes, r.text, string(r.Status),
		number, int64(generation), r.started, r.Workflow)
	if n > 0 || err != nil {
		return true, err
	}
	n, err = db.exec(updateAll, int64(r.Generation), stream, r.closed, r.attributes, r.text,
		string(r.Status), r.started, r.Workflow, number, int64(generation))
	return n > 0, err
}

// storedSummary is what the table of runs has of a summary.
type storedSummary struct {
	text  []byte
	block []byte       // nil: none
	apart port.Summary // what columns say, too
}

// summaryColumns are what summaryOf reads, in its order.
const (
	summaryColumns = "summary, " + besideSummary
	besideSummary  = "block, run, generation, status, started, closed, workflow"
)

func summaryOf(row []driver.Value) storedSummary {
	found := storedSummary{text: blob(row[0]), block: blob(row[1]),
		apart: port.Summary{Run: row[2].(string), Generation: int(row[3].(int64)),
			Status:   history.Status(row[4].(string)),
			Started:  time.Unix(0, row[5].(int64)).UTC(),
			Workflow: row[7].(string)}}
	if closed := row[6].(int64); closed != 0 {
		found.apart.Closed = time.Unix(0, closed).UTC()
	}
	return found
}

// decodeSummary reads a run's summary, and the block that stands beside it. Where the summary cannot be read, it gives what
// the columns say, too.
func (s *Store) decodeSummary(ctx context.Context, found storedSummary) (*port.Summary, error) {
	decoder, run := &history.Decoder{}, found.apart.Run
	summary, err := seal.Decode(ctx, s.options.Codec, run, decoder,
		func(d *history.Decoder) (*port.Summary, error) {
			return port.DecodeSummary(d, found.text)
		})
	if err != nil {
		summary, err = &found.apart, fmt.Errorf("the summary of run %q: %w", run, err)
	}
	if found.block != nil {
		block, bad := seal.Decode(ctx, s.options.Codec, run, decoder,
			func(d *history.Decoder) (*port.Block, error) {
				return port.DecodeBlock(d, found.block)
			})
		if summary.Blocked = block; bad != nil {
			return summary, fmt.Errorf("the block of run %q: %w", run, bad)
		}
	}
	return summary, err
}

func (s *Store) encodeEvent(ctx context.Context, run string, event history.Event) ([]byte, error) {
	return seal.Encode(ctx, s.options.Codec, run, func(e history.Encoder) ([]byte, error) { return e.Event(event), nil })
}

// clone makes a summary that shares nothing with another one that anybody changes: payloads and failures are values.
func clone(s *port.Summary) *port.Summary {
	c := *s
	c.Attributes = maps.Clone(s.Attributes)
	if s.Blocked != nil {
		blocked := *s.Blocked
		c.Blocked = &blocked
	}
	if s.Parent != nil {
		parent := *s.Parent
		c.Parent = &parent
	}
	return &c
}

// nanoseconds since 1970, for ordering: times before 1678 and after 2261 are the ends of the scale.
func nanoseconds(t time.Time) int64 {
	if year := t.UTC().Year(); year < 1678 {
		return math.MinInt64
	} else if year > 2261 {
		return math.MaxInt64
	}
	return t.UnixNano()
}
