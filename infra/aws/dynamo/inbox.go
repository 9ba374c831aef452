package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/port"
)

// File is one conditional put. Whether there is a run, it does not know: to find out would be another read.
func (s *Store) File(
	ctx context.Context, run string, item port.Item,
) (stamp int64, there bool, err error) {
	r, err := s.itemRow(ctx, run, item)
	if err != nil {
		return 0, false, err
	}
	err = s.putRow(ctx, call{"file", run}, &dynamodb.PutItemInput{Item: r, ConditionExpression: aws.String(absent),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	if earlier, there := inTheWay(err); there {
		return numberOf(earlier, "stamp"), true, nil
	}
	return item.Stamp, false, err
}

// Delete deletes at once, 25 items in one request; all of them, or [port.ErrUnavailable].
func (s *Store) Delete(ctx context.Context, run string, keys []string) error {
	var sks []string
	for _, key := range keys {
		sks = append(sks, itemKey(key))
	}
	if len(sks) == 0 {
		return nil
	}
	return s.deleteRows(ctx, call{"tidy", run}, partition(run), sks)
}

// Discard is a transaction for each 99 items. That the summary is of the generation is the condition of a change to it that changes
// nothing: it costs what a check would, and asks for no permission of its own.
func (s *Store) Discard(ctx context.Context, run string, generation int, keys []string) error {
	for some := range slices.Chunk(keys, writesInTransaction-1) {
		t := &transaction{}
		u := change(row{"generation": number(int64(generation))})
		s.updateSummary(t, run, generation, u)
		for _, key := range some {
			t.delete(&types.Delete{TableName: &s.table, Key: keyOf(partition(run), itemKey(key))},
				nil)
		}
		if err := s.commit(ctx, call{"discard", run}, t); err != nil &&
			!errors.Is(err, port.ErrNoRun) {
			return err
		}
	}
	return nil
}

func (s *Store) itemRow(ctx context.Context, run string, item port.Item) (row, error) {
	content, err := s.codec.EncodeEvent(ctx, run, item.Event)
	if err != nil {
		return nil, err
	}
	body, err := s.body(ctx, run, content)
	if err != nil {
		return nil, err
	}
	r := row{"body": body, "stamp": number(item.Stamp)}
	if item.Durable {
		r["durable"] = &types.AttributeValueMemberBOOL{Value: true}
	}
	maps.Copy(r, keyOf(partition(run), itemKey(item.Key)))
	return r, nil
}

func (s *Store) readItem(ctx context.Context, r row) (item port.Item, err error) {
	item.Key = strings.TrimPrefix(textOf(r, "sk"), itemPrefix)
	text, err := content(ctx, s.codec, r)
	if err == nil {
		item.Event, err = s.codec.DecodeEvent(ctx, runOf(r), text)
	}
	if err != nil {
		return item, fmt.Errorf("item %q of run %q: %w", item.Key, runOf(r), err)
	}
	item.Stamp = numberOf(r, "stamp")
	_, item.Durable = r["durable"]
	return item, nil
}
