package dynamo

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/offload"
)

// Note writes at once, 25 notes in one request; all of them, or [port.ErrUnavailable]. A note costs
// one write unit.
func (s *Store) Note(ctx context.Context, run string, notes []port.Note) error {
	c := call{"note", run}
	rows := map[string]row{} // a batch that names a row twice is refused
	for _, note := range notes {
		r := keyOf(partition(run), noteKey(note.Key))
		r["generation"], r["record"] = number(int64(note.Taken.Generation)), number(int64(note.Taken.Record))
		rows[note.Key] = r
	}
	writes := make([]types.WriteRequest, 0, len(rows))
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if len(rows) == 1 {
			return s.putRow(ctx, c, &dynamodb.PutItemInput{Item: rows[key]})
		}
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: rows[key]}})
	}
	return s.writeAll(ctx, c, writes)
}

// Noted is one read of one row.
func (s *Store) Noted(ctx context.Context, run, key string) (port.Position, error) {
	r, err := s.getRow(ctx, call{"noted", run}, partition(run), noteKey(key))
	if err != nil {
		return port.Position{}, err
	}
	return port.Position{Generation: int(numberOf(r, "generation")),
		Record: int(numberOf(r, "record"))}, nil
}

// Item is one read of one row.
func (s *Store) Item(ctx context.Context, run, key string) (*port.Item, error) {
	r, err := s.getRow(ctx, call{"item", run}, partition(run), itemKey(key))
	if err != nil || r == nil {
		return nil, err
	}
	item, err := s.readItem(ctx, r)
	if err != nil {
		return nil, err
	}
	return &item, nil
}

// Record is one read of one row.
func (s *Store) Record(ctx context.Context, run string, at port.Position) (*history.Record, error) {
	r, err := s.getRow(ctx, call{"record", run}, partition(run), logKey(at.Generation, at.Record))
	if err != nil || r == nil {
		return nil, err
	}
	record, _, err := s.readRecord(ctx, r, offload.Codec.DecodeRecord)
	return record, err
}
