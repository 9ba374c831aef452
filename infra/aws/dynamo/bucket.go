package dynamo

import (
	"context"
	"crypto/rand"
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

// bucket is an entry of the list.
type bucket struct{ name, mark string }

// listBucket puts a bucket on the list, with a new mark.
func (s *Store) listBucket(ctx context.Context, c call, name string) error {
	r := keyOf(bucketsPartition, name)
	r["mark"] = text(rand.Text())
	return s.putRow(ctx, c, &dynamodb.PutItemInput{Item: r})
}

// unlistIfOver takes a bucket off the list that was seen to be empty, if its minute is over and nobody has put it there anew.
func (s *Store) unlistIfOver(ctx context.Context, b bucket) error {
	begin, err := beginOf(b.name)
	if err != nil || s.now().Before(begin.Add(minute)) {
		return err
	}
	err = s.deleteRow(ctx, call{name: "unlist bucket"}, &dynamodb.DeleteItemInput{Key: keyOf(bucketsPartition, b.name),
		ConditionExpression: aws.String("mark = :mark"), ExpressionAttributeValues: row{":mark": text(b.mark)}})
	if refused(err) {
		return nil
	}
	return err
}

// bucketsBefore lists the buckets that begin before a time, the oldest first.
func (s *Store) bucketsBefore(ctx context.Context, before time.Time) (listed []bucket, err error) {
	bound := before.UTC().Truncate(minute)
	if bound.Before(before) {
		bound = bound.Add(minute)
	}
	var start row
	for {
		out, err := s.query(ctx, call{name: "due"}, &dynamodb.QueryInput{
			KeyConditionExpression:    aws.String("pk = :buckets AND sk < :bound"),
			ExpressionAttributeValues: row{":buckets": text(bucketsPartition), ":bound": text(minuteOf(bound))},
			ConsistentRead:            aws.Bool(true), ExclusiveStartKey: start,
		})
		if err != nil {
			return nil, err
		}
		for _, r := range out.Items {
			listed = append(listed, bucket{textOf(r, "sk"), textOf(r, "mark")})
		}
		if start = out.LastEvaluatedKey; start == nil {
			return listed, nil
		}
	}
}
