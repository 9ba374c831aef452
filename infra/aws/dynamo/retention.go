package dynamo

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/core/history"
)

// A run is deleted in three steps, so that it never comes back half, and an interrupted deletion is finished by a later call.
//
//  1. Its summary loses its generation, body and block, on condition that the run ended before the time, and is still ended.
//     From then on there is no run: every update of a summary is conditional on its generation, so that no reset and no
//     reuse of the id can bring it back, and readers find none. But the row is there, and in its place in the listing: no
//     run of the same id can be created, and a later call finds it where it looks anyway.
//  2. All other rows of the partition are deleted, and what Places keep.
//  3. The summary's row is deleted. From then on the id is free.
//
// Step 2 has no conditions, which would double its price. So nobody may be in it once somebody else has done step 3, and the
// run may be started anew: step 1 leaves in the row until when its author may go on, only that long others stay away, and
// the author stops 5 minutes before. Whatever else is still being written to such a run, by a handler that has looked at it
// before it ended, must have been given up long ago: keep runs for longer than an invocation lives and a message is kept
// (15 minutes, 14 days).
const (
	claimedFor = 15 * time.Minute
	givesUp    = 10 * time.Minute
)

func closedStatuses() []history.Status {
	return []history.Status{history.Completed, history.Failed, history.Cancelled, history.Terminated}
}

// DeleteClosed deletes runs that ended before a time: summary, logs of all generations, inbox, tasks, and what is kept
// elsewhere. Those that started first go first, of each status and shard. It deletes no more than limit runs, and says how
// many; fewer than limit means that none is left, but for those that others are deleting. Their long timers stay, fire, and find no run.
func (s *Store) DeleteClosed(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	for _, status := range closedStatuses() {
		for i := range shards {
			listed := listedKey(status, strconv.Itoa(i))
			var start row
			for deleted < limit {
				page, err := s.expired(ctx, listed, before, limit-deleted, start)
				if err != nil {
					return deleted, err
				}
				n, err := s.deleteRuns(ctx, page.Items, listed, before)
				if deleted += n; err != nil {
					return deleted, err
				}
				if start = page.LastEvaluatedKey; start == nil {
					break
				}
			}
		}
	}
	return deleted, nil
}

// expired lists runs that ended before a time. They also started before it, and the listing is in order of that; the few that
// it reads in vain are those that were open at that time.
func (s *Store) expired(ctx context.Context, listed string, before time.Time, limit int, start row) (*dynamodb.QueryOutput, error) {
	return s.query(ctx, call{name: "expired"}, &dynamodb.QueryInput{
		IndexName: aws.String(listingIndex), KeyConditionExpression: aws.String("listed = :listed AND started < :started"),
		FilterExpression:          aws.String("closed < :before"),
		ExpressionAttributeValues: row{":listed": text(listed), ":started": text(sortable(before)), ":before": number(before.Unix())},
		Limit:                     aws.Int32(int32(min(limit, longestPage))), ExclusiveStartKey: start,
	})
}

func (s *Store) deleteRuns(ctx context.Context, rows []row, listed string, before time.Time) (deleted int, err error) {
	var mu sync.Mutex
	err = each(ctx, len(rows), func(ctx context.Context, i int) error {
		done, err := s.deleteRun(ctx, runOf(rows[i]), listed, before)
		if done {
			mu.Lock()
			defer mu.Unlock()
			deleted++
		}
		return err
	})
	return deleted, err
}

// deleteRun does nothing to a run that goes on meanwhile, or that somebody else is deleting.
func (s *Store) deleteRun(ctx context.Context, run, listed string, before time.Time) (done bool, err error) {
	c := call{"expire", run}
	until := s.now().Add(claimedFor).Unix()
	ctx, cancel := context.WithTimeout(ctx, givesUp)
	defer cancel()
	u := change(row{"deleting": number(until)}, "generation", "body", "blocked", "mark", "stuck")
	condition := u.name("listed") + " = " + u.value("listed", text(listed)) +
		" AND " + u.name("closed") + " < " + u.value("before", number(before.Unix())) +
		" AND (attribute_not_exists(" + u.name("deleting") + ") OR " + u.name("deleting") + " < " + u.value("now", number(s.now().Unix())) + ")"
	err = s.updateRow(ctx, c, &dynamodb.UpdateItemInput{Key: keyOf(partition(run), summaryKey), UpdateExpression: u.expression(),
		ConditionExpression: &condition, ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.attributes()})
	if refused(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := s.deleteRest(ctx, c, run); err != nil {
		return false, err
	}
	err = s.deleteRow(ctx, c, &dynamodb.DeleteItemInput{Key: keyOf(partition(run), summaryKey),
		ConditionExpression: aws.String("deleting = :until"), ExpressionAttributeValues: row{":until": number(until)}})
	if refused(err) { // its answer was lost and the client repeated it, or it took so long that somebody else went on
		return true, nil
	}
	return err == nil, err
}

// DeleteLog leaves what Places keep of it until the run is deleted.
func (s *Store) DeleteLog(ctx context.Context, run string, generation int) error {
	return s.deleteAmong(ctx, call{"expire a log", run}, run, &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("pk = :run AND sk BETWEEN :from AND :to"),
		ExpressionAttributeValues: row{":run": text(partition(run)), ":from": text(logKey(generation, 0)), ":to": text(logKey(generation, longestNumber))},
	})
}

// deleteRest deletes all of a run but the row of its summary.
func (s *Store) deleteRest(ctx context.Context, c call, run string) error {
	err := s.deleteAmong(ctx, c, run, &dynamodb.QueryInput{
		KeyConditionExpression: aws.String("pk = :run"), ExpressionAttributeValues: row{":run": text(partition(run))}})
	if err != nil {
		return err
	}
	return s.codec.Places.Forget(ctx, run)
}

// deleteAmong deletes the rows of a run that a query finds, but not its summary.
func (s *Store) deleteAmong(ctx context.Context, c call, run string, of *dynamodb.QueryInput) error {
	of.ProjectionExpression, of.ConsistentRead = aws.String("pk, sk"), aws.Bool(true)
	for {
		out, err := s.query(ctx, c, of)
		if err != nil {
			return err
		}
		var sks []string
		for _, r := range out.Items {
			if sk := textOf(r, "sk"); sk != summaryKey {
				sks = append(sks, sk)
			}
		}
		if len(sks) > 0 {
			if err := s.deleteRows(ctx, c, partition(run), sks); err != nil {
				return err
			}
		}
		if of.ExclusiveStartKey = out.LastEvaluatedKey; of.ExclusiveStartKey == nil {
			return nil
		}
	}
}
