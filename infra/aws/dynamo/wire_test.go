//go:build dynamodb

package dynamo_test

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// wire is a client whose requests are counted, and may be tampered with.
type wire struct {
	dynamo.Client
	// around, if it is not nil, is between the store and each request: it may do it or not, and say what it likes.
	around func(operation string, do func() error) error
	// halve, if it is not nil, says whether a batch is to be done in half.
	halve func() bool

	mu   sync.Mutex
	seen []string
}

// requests gives the operations since it was asked last.
func (w *wire) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

func pass[I, O any](ctx context.Context, w *wire, operation string, in *I, do func(context.Context, *I, ...func(*dynamodb.Options)) (*O, error)) (*O, error) {
	w.mu.Lock()
	w.seen = append(w.seen, operation)
	w.mu.Unlock()
	if w.around == nil {
		return do(ctx, in)
	}
	var out *O
	err := w.around(operation, func() (err error) {
		out, err = do(ctx, in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (w *wire) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return pass(ctx, w, "GetItem", in, w.Client.GetItem)
}

func (w *wire) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return pass(ctx, w, "PutItem", in, w.Client.PutItem)
}

func (w *wire) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return pass(ctx, w, "UpdateItem", in, w.Client.UpdateItem)
}

func (w *wire) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return pass(ctx, w, "DeleteItem", in, w.Client.DeleteItem)
}

func (w *wire) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return pass(ctx, w, "Query", in, w.Client.Query)
}

func (w *wire) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return pass(ctx, w, "Scan", in, w.Client.Scan)
}

func (w *wire) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return pass(ctx, w, "TransactWriteItems", in, w.Client.TransactWriteItems)
}

func (w *wire) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return pass(ctx, w, "BatchGetItem", in, func(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
		if w.halve == nil || !w.halve() {
			return w.Client.BatchGetItem(ctx, in)
		}
		now, later := map[string]types.KeysAndAttributes{}, map[string]types.KeysAndAttributes{}
		for table, reads := range in.RequestItems {
			first, rest := reads, reads
			half := (len(reads.Keys) + 1) / 2
			first.Keys, rest.Keys = reads.Keys[:half], reads.Keys[half:]
			if now[table] = first; len(rest.Keys) > 0 {
				later[table] = rest
			}
		}
		out, err := w.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: now})
		if err == nil {
			out.UnprocessedKeys = later
		}
		return out, err
	})
}

func (w *wire) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return pass(ctx, w, "BatchWriteItem", in, func(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
		if w.halve == nil || !w.halve() {
			return w.Client.BatchWriteItem(ctx, in)
		}
		now, later := map[string][]types.WriteRequest{}, map[string][]types.WriteRequest{}
		for table, writes := range in.RequestItems {
			half := (len(writes) + 1) / 2
			if now[table] = writes[:half]; half < len(writes) {
				later[table] = writes[half:]
			}
		}
		out, err := w.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: now})
		if err == nil {
			out.UnprocessedItems = later
		}
		return out, err
	})
}
