package dynamo

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The requests of this package, each with what all of its kind have in common: the table, the meter, errors that say what
// was being done, another attempt where two meet.

func (s *Store) getRow(ctx context.Context, c call, pk, sk string) (row, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table, Key: keyOf(pk, sk), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: s.returns})
	if err != nil {
		return nil, c.explain(err)
	}
	s.read(c, "GetItem", out.ConsumedCapacity)
	return out.Item, nil
}

func (s *Store) query(ctx context.Context, c call, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	in.TableName, in.ReturnConsumedCapacity = &s.table, s.returns
	out, err := s.client.Query(ctx, in)
	if err != nil {
		return nil, c.explain(err)
	}
	s.read(c, "Query", out.ConsumedCapacity)
	return out, nil
}

func (s *Store) putRow(ctx context.Context, c call, in *dynamodb.PutItemInput) error {
	in.TableName, in.ReturnConsumedCapacity = &s.table, s.returns
	return s.write(ctx, c, "PutItem", func() (*types.ConsumedCapacity, error) {
		out, err := s.client.PutItem(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	})
}

func (s *Store) updateRow(ctx context.Context, c call, in *dynamodb.UpdateItemInput) error {
	in.TableName, in.ReturnConsumedCapacity = &s.table, s.returns
	return s.write(ctx, c, "UpdateItem", func() (*types.ConsumedCapacity, error) {
		out, err := s.client.UpdateItem(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	})
}

func (s *Store) deleteRow(ctx context.Context, c call, in *dynamodb.DeleteItemInput) error {
	in.TableName, in.ReturnConsumedCapacity = &s.table, s.returns
	return s.write(ctx, c, "DeleteItem", func() (*types.ConsumedCapacity, error) {
		out, err := s.client.DeleteItem(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	})
}

// write does one write. Who meets a transaction that has the same row in its hands tries again.
func (s *Store) write(ctx context.Context, c call, operation string, do func() (*types.ConsumedCapacity, error)) error {
	return s.persist(ctx, func() (again bool, err error) {
		used, err := do()
		if err != nil {
			return passing(err), c.explain(err)
		}
		s.wrote(c, operation, used)
		return false, nil
	})
}

// transaction is a group of writes that are done together or not at all. For each it is known what it means that its
// condition is not met, given the row that is there instead (nil: there is none).
type transaction struct {
	writes  []types.TransactWriteItem
	meaning []func(there row) error
}

func (t *transaction) put(put *types.Put, meaning func(there row) error) {
	t.writes, t.meaning = append(t.writes, types.TransactWriteItem{Put: put}), append(t.meaning, meaning)
}

func (t *transaction) update(update *types.Update, meaning func(there row) error) {
	t.writes, t.meaning = append(t.writes, types.TransactWriteItem{Update: update}), append(t.meaning, meaning)
}

func (t *transaction) delete(d *types.Delete, meaning func(there row) error) {
	t.writes, t.meaning = append(t.writes, types.TransactWriteItem{Delete: d}),
		append(t.meaning, meaning)
}

// commit does a transaction. The client gives each request a token that its own retries repeat, so that an answer that was
// lost does not become another one. The first condition that is not met is the answer.
func (s *Store) commit(ctx context.Context, c call, t *transaction) error {
	return s.persist(ctx, func() (again bool, err error) {
		out, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: t.writes, ReturnConsumedCapacity: s.returns})
		if err == nil {
			s.wrote(c, "TransactWriteItems", ofTable(out.ConsumedCapacity))
			return false, nil
		}
		for i, reason := range reasonsOf(err) {
			if isRefusal(reason) {
				return false, t.meaning[i](reason.Item)
			}
		}
		return passing(err), c.explain(err)
	})
}

// Limits of DynamoDB's for one request.
const (
	writesInBatch       = 25
	readsInBatch        = 100
	writesInTransaction = 100
)

var errLeftOver = errors.New("throttled: a part of it was not done")

// deleteRows deletes rows of one partition by their sort keys. One that is not there is no error.
func (s *Store) deleteRows(ctx context.Context, c call, pk string, sks []string) error {
	slices.Sort(sks)
	sks = slices.Compact(sks) // a batch that names a row twice is refused
	if len(sks) == 1 {
		return s.deleteRow(ctx, c, &dynamodb.DeleteItemInput{Key: keyOf(pk, sks[0])})
	}
	var all []row
	for _, sk := range sks {
		all = append(all, keyOf(pk, sk))
	}
	return s.deleteAll(ctx, c, all)
}

// deleteAll deletes rows by their keys, which are all different.
func (s *Store) deleteAll(ctx context.Context, c call, keys []row) error {
	writes := make([]types.WriteRequest, len(keys))
	for i, key := range keys {
		writes[i].DeleteRequest = &types.DeleteRequest{Key: key}
	}
	return s.writeAll(ctx, c, writes)
}

// writeAll writes rows without conditions, 25 in one request. No two writes are of the same row.
func (s *Store) writeAll(ctx context.Context, c call, writes []types.WriteRequest) error {
	for batch := range slices.Chunk(writes, writesInBatch) {
		left := batch
		err := s.persist(ctx, func() (again bool, err error) {
			out, err := s.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{s.table: left}, ReturnConsumedCapacity: s.returns})
			if err != nil {
				return passing(err), c.explain(err)
			}
			s.wrote(c, "BatchWriteItem", ofTable(out.ConsumedCapacity))
			if left = out.UnprocessedItems[s.table]; len(left) > 0 {
				return true, c.explain(errLeftOver)
			}
			return false, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// getSummaries reads the rows of summaries by run. One that is not there is not in the answer.
func (s *Store) getSummaries(ctx context.Context, c call, runs []string) (map[string]row, error) {
	found := map[string]row{}
	for batch := range slices.Chunk(runs, readsInBatch) {
		left := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
		for _, run := range batch {
			left.Keys = append(left.Keys, keyOf(partition(run), summaryKey))
		}
		err := s.persist(ctx, func() (again bool, err error) {
			out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{s.table: left}, ReturnConsumedCapacity: s.returns})
			if err != nil {
				return false, c.explain(err)
			}
			s.read(c, "BatchGetItem", ofTable(out.ConsumedCapacity))
			for _, r := range out.Responses[s.table] {
				found[runOf(r)] = r
			}
			if left = out.UnprocessedKeys[s.table]; len(left.Keys) > 0 {
				return true, c.explain(errLeftOver)
			}
			return false, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (s *Store) read(c call, operation string, used *types.ConsumedCapacity) {
	if s.meter != nil {
		s.meter.Count(c.run, operation, unitsOf(used), 0)
	}
}

func (s *Store) wrote(c call, operation string, used *types.ConsumedCapacity) {
	if s.meter != nil {
		s.meter.Count(c.run, operation, 0, unitsOf(used))
	}
}

func unitsOf(used *types.ConsumedCapacity) float64 {
	if used == nil {
		return 0
	}
	return aws.ToFloat64(used.CapacityUnits)
}

// ofTable is what was consumed of the one table that there is.
func ofTable(used []types.ConsumedCapacity) *types.ConsumedCapacity {
	if len(used) == 0 {
		return nil
	}
	return &used[0]
}
