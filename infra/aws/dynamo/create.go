package dynamo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/offload"
)

// Create is one transaction. A run of this id whose deletion is not finished (retention.go) is in
// the way for moments, or, where that was interrupted, until [Store.DeleteClosed] goes on:
// [port.ErrUnavailable].
//
// What it keeps elsewhere it keeps once more afterwards: the run that had this id before may have been deleted just then, and
// with it the same payload. It is not to be written that the new run has it where nothing is.
func (s *Store) Create(ctx context.Context, summary *port.Summary, start port.Item) error {
	kept := &keeping{Places: s.codec.Places}
	with := *s
	with.codec.Places = kept
	if err := with.create(ctx, summary, start); err != nil {
		return err
	}
	return kept.renew(ctx, summary.Run)
}

func (s *Store) create(ctx context.Context, summary *port.Summary, start port.Item) error {
	r, err := s.summaryRow(ctx, summary.Run, summary)
	if err != nil {
		return err
	}
	maps.Copy(r, keyOf(partition(summary.Run), summaryKey))
	r[saysKept] = isSaid
	if summary.Blocked != nil {
		mark, err := s.blockRow(ctx, summary.Run, summary.Blocked)
		if err != nil {
			return err
		}
		maps.Copy(r, mark)
	}
	item, err := s.itemRow(ctx, summary.Run, start)
	if err != nil {
		return err
	}
	t := &transaction{}
	t.put(&types.Put{TableName: &s.table, Item: r, ConditionExpression: aws.String(absent),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld},
		func(there row) error {
			if !isRun(there) {
				return fmt.Errorf("run %q is being deleted: try again in a while: %w", summary.Run,
					port.ErrUnavailable)
			}
			return taken(summary.Run)
		})
	t.put(&types.Put{TableName: &s.table, Item: item}, nil)
	return s.commit(ctx, call{"create", summary.Run}, t)
}

// keeping remembers what was kept.
type keeping struct {
	offload.Places
	mu   sync.Mutex
	data [][]byte
}

// Keep implements offload.Places.
func (k *keeping) Keep(ctx context.Context, run string, data []byte) (place string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.ContainsFunc(k.data, func(there []byte) bool { return bytes.Equal(there, data) }) {
		k.data = append(k.data, data)
	}
	return k.Places.Keep(ctx, run, data)
}

func (k *keeping) renew(ctx context.Context, run string) error {
	for _, data := range k.data {
		if err := k.Renew(ctx, run, data); err != nil {
			return fmt.Errorf("a payload of run %q was not kept: %w", run, err)
		}
	}
	return nil
}
