package dynamo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/core/port"
)

const (
	// duePage is how many timers one page holds.
	duePage = 1000
	// wave is how many buckets are read at one time, or those of one minute.
	wave = 16
)

// PutDue puts one timer after the other.
func (s *Store) PutDue(ctx context.Context, timers ...port.DueTimer) error {
	for _, timer := range timers {
		if err := s.putDue(ctx, timer); err != nil {
			return err
		}
	}
	return nil
}

// putDue puts the timer, and then its bucket on the list, if it may not be there: see bucket.go, where it is argued why a
// timer whose putDue has returned is always found.
func (s *Store) putDue(ctx context.Context, timer port.DueTimer) error {
	c := call{"put timer", timer.Run}
	name := bucketOf(timer)
	begin, err := beginOf(name)
	if err != nil {
		return err
	}
	if err := s.putRow(ctx, c, &dynamodb.PutItemInput{Item: keyOf(duePrefix+name, dueKey(timer))}); err != nil {
		return err
	}
	if s.buckets.have(name) && s.now().Before(begin.Add(-safeBefore)) {
		return nil
	}
	if err := s.listBucket(ctx, c, name); err != nil {
		return err
	}
	s.buckets.add(name)
	return nil
}

// DeleteDue deletes at once, 25 timers in one request.
func (s *Store) DeleteDue(ctx context.Context, timers []port.DueTimer) error {
	byBucket := map[string][]string{}
	for _, timer := range timers {
		name := bucketOf(timer)
		byBucket[name] = append(byBucket[name], dueKey(timer))
	}
	var all []row
	for name, keys := range byBucket {
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			all = append(all, keyOf(duePrefix+name, key))
		}
	}
	return s.deleteAll(ctx, call{name: "delete timers"}, all)
}

// DueBefore reads the list of buckets, and then whole minutes of buckets, the oldest first, until a page of 1,000 is full or
// none is left. It takes buckets that have nothing any more off the list.
func (s *Store) DueBefore(ctx context.Context, before time.Time) (due []port.DueTimer, err error) {
	listed, err := s.bucketsBefore(ctx, before)
	if err != nil {
		return nil, err
	}
	for len(listed) > 0 && len(due) < duePage {
		n := min(wave, len(listed))
		for n < len(listed) && sameMinute(listed[n-1], listed[n]) {
			n++
		}
		found := make([][]port.DueTimer, n)
		err := each(ctx, n, func(ctx context.Context, i int) (err error) {
			found[i], err = s.readBucket(ctx, listed[i])
			return err
		})
		if err != nil {
			return nil, err
		}
		due = append(due, slices.Concat(found...)...)
		listed = listed[n:]
	}
	slices.SortFunc(due, func(a, b port.DueTimer) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq))
	})
	return due[:min(len(due), duePage)], nil
}

func sameMinute(a, b bucket) bool {
	minute, _, _ := strings.Cut(a.name, "#")
	return strings.HasPrefix(b.name, minute+"#")
}

// readBucket gives the earliest timers of a bucket, as many as a page holds at least, and takes it off the list if it has
// none and its time is over.
func (s *Store) readBucket(ctx context.Context, b bucket) (timers []port.DueTimer, err error) {
	var start row
	for len(timers) < duePage {
		out, err := s.query(ctx, call{name: "due"}, &dynamodb.QueryInput{
			KeyConditionExpression: aws.String("pk = :bucket"), ExpressionAttributeValues: row{":bucket": text(duePrefix + b.name)},
			ConsistentRead: aws.Bool(true), Limit: aws.Int32(duePage), ExclusiveStartKey: start,
		})
		if err != nil {
			return nil, err
		}
		for _, r := range out.Items {
			timer, err := timerOf(textOf(r, "sk"))
			if err != nil {
				return nil, err
			}
			timers = append(timers, timer)
		}
		if start = out.LastEvaluatedKey; start == nil {
			break
		}
	}
	if len(timers) == 0 {
		return nil, s.unlistIfOver(ctx, b)
	}
	return timers, nil
}
