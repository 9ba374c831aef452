package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The list of buckets that exist. A timer in a bucket that is not on it is never found, so nobody may take a bucket off the
// list while somebody puts a timer into it. Two rules see to that.
//
// Each time a bucket is put on the list it gets a new mark. PutDue puts the timer first, then the bucket. DueBefore reads the
// list, then the bucket, and takes it off only if the bucket is empty, and on condition that its mark is the one that was
// read. If the put of the bucket comes after the removal, it is on the list. If it comes before the removal but after the
// list was read, the mark is another one and the removal is refused. If it comes before the list was read, then so did
// the put of the timer, and the bucket was not empty. No clock matters.
//
// That would be two writes for each timer. So a process that has put a bucket on the list spares that for its next timers,
// if, once the timer has been put, the bucket's minute is still 5 minutes away: buckets leave the list only when their
// minute is over. Then the bucket is still on the list, and whoever takes it off later has the timer before him. Here the
// clocks of two machines must not differ by more than 6 minutes.
const (
	safeBefore = 5 * time.Minute
	minute     = time.Minute
)

// The list has 16 partitions, and an older one: what is there was put there by an older version. A bucket
// may be in two of them. Each entry is taken off by the rules above, as if the others were not there.

// bucket is on the list, in one entry or two.
type bucket struct {
	name    string
	entries []entry
}

// entry of a bucket in one partition of the list.
type entry struct{ list, mark string }

// listOf is the partition of the list that a bucket is put into.
func listOf(bucket string) string { return bucketsPartition + "#" + shardOf(bucket, bucketLists) }

// listBucket puts a bucket on the list, with a new mark.
func (s *Store) listBucket(ctx context.Context, c call, name string) error {
	r := keyOf(listOf(name), name)
	r["mark"] = text(rand.Text())
	return s.putRow(ctx, c, &dynamodb.PutItemInput{Item: r})
}

// unlistIfOver takes a bucket off the list that was seen to be empty, if its minute is over and nobody has put it there anew.
func (s *Store) unlistIfOver(ctx context.Context, b bucket) error {
	begin, err := beginOf(b.name)
	if err != nil || s.now().Before(begin.Add(minute)) {
		return err
	}
	for _, e := range b.entries {
		err := s.deleteRow(ctx, call{name: "unlist bucket"}, &dynamodb.DeleteItemInput{Key: keyOf(e.list, b.name),
			ConditionExpression: aws.String("mark = :mark"), ExpressionAttributeValues: row{":mark": text(e.mark)}})
		if err != nil && !refused(err) {
			return err
		}
	}
	return nil
}

// bucketsBefore lists the buckets that begin before a time, the oldest first.
func (s *Store) bucketsBefore(ctx context.Context, before time.Time) (listed []bucket, err error) {
	bound := before.UTC().Truncate(minute)
	if bound.Before(before) {
		bound = bound.Add(minute)
	}
	lists := []string{bucketsPartition}
	for i := range bucketLists {
		lists = append(lists, bucketsPartition+"#"+strconv.Itoa(i))
	}
	found := make([][]bucket, len(lists))
	err = each(ctx, len(lists), func(ctx context.Context, i int) (err error) {
		found[i], err = s.readList(ctx, lists[i], minuteOf(bound))
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, b := range slices.SortedStableFunc(slices.Values(slices.Concat(found...)), byName) {
		if last := len(listed) - 1; last >= 0 && listed[last].name == b.name {
			listed[last].entries = append(listed[last].entries, b.entries...)
		} else {
			listed = append(listed, b)
		}
	}
	return listed, nil
}

func byName(a, b bucket) int { return cmp.Compare(a.name, b.name) }

// readList reads the buckets of one partition of the list that begin before a minute.
func (s *Store) readList(ctx context.Context, list, bound string) (listed []bucket, err error) {
	var start row
	for {
		out, err := s.query(ctx, call{name: "due"}, &dynamodb.QueryInput{
			KeyConditionExpression:    aws.String("pk = :buckets AND sk < :bound"),
			ExpressionAttributeValues: row{":buckets": text(list), ":bound": text(bound)},
			ConsistentRead:            aws.Bool(true), ExclusiveStartKey: start,
		})
		if err != nil {
			return nil, err
		}
		for _, r := range out.Items {
			listed = append(listed, bucket{textOf(r, "sk"), []entry{{list, textOf(r, "mark")}}})
		}
		if start = out.LastEvaluatedKey; start == nil {
			return listed, nil
		}
	}
}
