package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/aws/offload"
)

const (
	// storedBytes is what one query reads of a log at most (a limit of DynamoDB's), and how far a look reads it backward.
	storedBytes = 1 << 20
	// pageBytes is how much of a log one page holds at most, inflated and with its payloads; at least one record.
	pageBytes = 4 << 20
	// coldRows is how many rows the first request reads of a run that the caller does not know: what most runs have in all.
	// Without it, a run of many generations would be read far beyond the present one.
	coldRows = 100
	// decodedAtOnce is how many records are decoded at one time, each of which may be many payloads of 50 MB.
	decodedAtOnce = 4
)

// Look is one query in the usual case. It reads backward: the summary, then the inbox, then the log from its newest record
// to the first that the caller does not know, so that a result in the inbox never comes without the record that asked for
// it. Pages of one query are read one after the other, in that order, and records do not change: a record that is put in
// between may be in the view, a summary is not.
//
// A log that goes on for more than about 1 MB is read again from its older end, which is where a replay begins.
func (s *Store) Look(ctx context.Context, run string, known port.Position) (*port.View, error) {
	t := &tail{store: s, call: call{"look", run}, run: run, known: known}
	if err := t.read(ctx); err != nil {
		return nil, err
	}
	view := &port.View{Inbox: make([]port.Item, len(t.inbox))}
	var err error
	if view.Summary, err = s.readSummary(ctx, t.summary); err != nil {
		return nil, err
	}
	err = each(ctx, len(t.inbox), func(ctx context.Context, i int) (err error) {
		view.Inbox[i], err = s.readItem(ctx, t.inbox[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	if known == port.Newest {
		view.Records, err = s.newest(ctx, t.log)
		view.More = len(view.Records) < len(t.log) || len(view.Records) > 0 &&
			view.Records[0].Number > 1
		return view, err
	}
	if t.long {
		view.Records, view.More, err = s.page(ctx, t.call, run, t.generation, t.after)
		return view, err
	}
	slices.Reverse(t.log)
	view.Records, err = s.readRecords(ctx, t.log, offload.Codec.DecodeRecord)
	view.More = len(view.Records) < len(t.log)
	return view, err
}

// tail is what a look reads of a run.
type tail struct {
	store *Store
	call  call
	run   string
	known port.Position

	summary    row
	generation int
	after      int // the record that the caller knows, of this generation
	inbox      []row
	log        []row // of this generation, the newest first
	bytes      int   // of them
	whole      bool  // the log has been read to the end that the caller knows
	long       bool  // the log is to be read from its older end
}

func (t *tail) read(ctx context.Context) error {
	from := logPrefix
	var limit *int32
	if t.known.Generation > 0 {
		from = logKey(t.known.Generation, t.known.Record+1)
	} else {
		limit = aws.Int32(coldRows)
	}
	var start row
	for {
		out, err := t.store.query(ctx, t.call, &dynamodb.QueryInput{
			KeyConditionExpression:    aws.String("pk = :run AND sk BETWEEN :from AND :to"),
			ExpressionAttributeValues: row{":run": text(partition(t.run)), ":from": text(from), ":to": text(summaryKey)},
			ScanIndexForward:          aws.Bool(false), ConsistentRead: aws.Bool(true), Limit: limit, ExclusiveStartKey: start,
		})
		if err != nil {
			return err
		}
		if err := t.sort(out.Items); err != nil {
			return err
		}
		start, limit = out.LastEvaluatedKey, nil
		if t.summary == nil && start == nil {
			return noRun(t.run)
		}
		if start == nil || t.whole || t.known == port.Newest && len(t.log) >= port.NewestRecords {
			t.long = t.known.Generation > t.generation // it asked for less than the whole
			return nil
		}
		if first := logKey(t.generation, t.after+1); first > from {
			if textOf(start, "sk") <= first {
				return nil
			}
			from = first
		}
		if t.bytes > storedBytes {
			t.long = true // nothing to those who ask for the newest
			return nil
		}
	}
}

// sort sorts a page of rows into what they are. The first of all is the summary, if there is a run.
func (t *tail) sort(rows []row) error {
	for _, r := range rows {
		sk := textOf(r, "sk")
		switch {
		case sk == summaryKey:
			t.summary, t.generation = r, int(numberOf(r, "generation"))
			if t.known.Generation == t.generation {
				t.after = t.known.Record
			}
		case strings.HasPrefix(sk, itemPrefix):
			t.inbox = append(t.inbox, r)
		default:
			if err := t.record(sk, r); err != nil {
				return err
			}
		}
		if !isRun(t.summary) {
			return noRun(t.run)
		}
	}
	return nil
}

func (t *tail) record(sk string, r row) error {
	generation, number, err := placeOf(sk)
	if err != nil {
		return fmt.Errorf("the log of run %q: %w", t.run, err)
	}
	if generation == t.generation && number > t.after {
		t.log = append(t.log, r)
		t.bytes += len(packedOf(r))
	}
	t.whole = t.whole || generation < t.generation || generation == t.generation && number <= t.after+1
	return nil
}

// Records is one query.
func (s *Store) Records(ctx context.Context, run string, generation, after int) ([]*history.Record, error) {
	records, _, err := s.page(ctx, call{"records", run}, run, generation, after)
	return records, err
}

// page reads records in order, as many as fit, and says whether there may be more.
func (s *Store) page(ctx context.Context, c call, run string, generation, after int) (records []*history.Record, more bool, err error) {
	if generation < 0 || generation > longestNumber || after >= longestNumber {
		return nil, false, nil
	}
	out, err := s.query(ctx, c, &dynamodb.QueryInput{
		KeyConditionExpression: aws.String("pk = :run AND sk BETWEEN :from AND :to"),
		ExpressionAttributeValues: row{":run": text(partition(run)), ":from": text(logKey(generation, max(0, after)+1)),
			":to": text(logKey(generation, longestNumber))},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, false, err
	}
	records, err = s.readRecords(ctx, out.Items, offload.Codec.DecodeRecord)
	return records, len(records) < len(out.Items) || out.LastEvaluatedKey != nil, err
}

// RecordsBefore is one query.
func (s *Store) RecordsBefore(
	ctx context.Context, run string, generation, before int,
) ([]*history.Record, error) {
	if generation < 0 || generation > longestNumber || before <= 1 {
		return nil, nil
	}
	out, err := s.query(ctx, call{"records", run}, &dynamodb.QueryInput{
		KeyConditionExpression: aws.String("pk = :run AND sk BETWEEN :from AND :to"),
		ExpressionAttributeValues: row{":run": text(partition(run)),
			":from": text(logKey(generation, 1)),
			":to":   text(logKey(generation, min(before-1, longestNumber)))},
		ScanIndexForward: aws.Bool(false),
		ConsistentRead:   aws.Bool(true),
		Limit:            aws.Int32(port.NewestRecords),
	})
	if err != nil {
		return nil, err
	}
	return s.newest(ctx, out.Items)
}

// newest decodes the rows of a log, which come from its end, and gives the records in order.
func (s *Store) newest(ctx context.Context, rows []row) ([]*history.Record, error) {
	records, err := s.readRecords(ctx, rows[:min(len(rows), port.NewestRecords)],
		offload.Codec.DecodeRecordWithCheckpoint)
	if err != nil {
		return nil, err
	}
	slices.Reverse(records)
	return records, nil
}

// decodeRecord is a method of a codec that decodes a record.
type decodeRecord func(c offload.Codec, ctx context.Context, run string, text []byte) (*history.Record, error)

// readRecords decodes records, as many as fit a page.
func (s *Store) readRecords(
	ctx context.Context, rows []row, decode decodeRecord,
) (records []*history.Record, err error) {
	bytes := 0
	for some := range slices.Chunk(rows, decodedAtOnce) {
		decoded, sizes := make([]*history.Record, len(some)), make([]int, len(some))
		err := each(ctx, len(some), func(ctx context.Context, i int) (err error) {
			decoded[i], sizes[i], err = s.readRecord(ctx, some[i], decode)
			return err
		})
		if err != nil {
			return records, err
		}
		for i, rec := range decoded {
			if bytes += sizes[i]; len(records) > 0 && bytes > pageBytes {
				return records, nil
			}
			records = append(records, rec)
		}
	}
	return records, nil
}

// recordNamed names a record as people do.
func recordNamed(key string) string {
	generation, number, err := placeOf(key)
	if err != nil {
		return key
	}
	return fmt.Sprintf("record %d of generation %d", number, generation)
}

// readRecord decodes a record, and says how long it is with its payloads.
func (s *Store) readRecord(
	ctx context.Context, r row, decode decodeRecord,
) (rec *history.Record, bytes int, err error) {
	places, sealed := &weighing{Places: s.codec.Places}, &seal.Weighing{Codec: s.codec.Seal}
	codec := s.codec
	if codec.Places = places; codec.Seal != nil {
		codec.Seal = sealed
	}
	text, err := content(ctx, codec, r)
	if err == nil {
		rec, err = decode(codec, ctx, runOf(r), text)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s of run %q: %w", recordNamed(textOf(r, "sk")), runOf(r), err)
	}
	return rec, len(text) + max(int(places.fetched.Load()), sealed.Opened()), nil
}
