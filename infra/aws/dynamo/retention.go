package dynamo

import (
	"context"
	"math/rand/v2"
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

// expiredPage is how many runs of one partition are taken in turn.
const expiredPage = 100

func closedStatuses() []history.Status {
	return []history.Status{history.Completed, history.Failed, history.Cancelled, history.Terminated}
}

// deletesAtOnce is how many runs are deleted at one time. Each takes four requests in turn, or some
// 30 ms: 2,000 runs a second, which is as much as the table takes of new ones without warm throughput.
const deletesAtOnce = 64

// deleteReserve is how long before its deadline [Store.DeleteClosed] begins nothing new: a deletion
// that its context interrupts is finished 15 minutes later at the earliest.
const deleteReserve = 5 * time.Second

// partOfListing is one partition of the listing, and how far it was read.
type partOfListing struct {
	listed string
	start  row
}

// DeleteClosed deletes runs that ended before a time: summary, logs of all generations, inbox, tasks,
// and what Places keep. It deletes 64 runs at a time and takes the partitions of the listing in turn,
// a page of each, beginning at any of them. In each partition it begins with the earliest start. Their
// long timers stay, fire, and find no run.
//
// It begins no more than limit runs, and none in the last five seconds before the context's deadline
// (in the last half of its time, if that is less). It returns how many it deleted, not counting those that another call is deleting. After an error it
// finishes what it has begun, and begins nothing more.
func (s *Store) DeleteClosed(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	sweep := &sweep{store: s, before: before, left: limit, places: make(chan struct{}, deletesAtOnce)}
	if deadline, limited := ctx.Deadline(); limited {
		sweep.until = deadline.Add(-min(deleteReserve, time.Until(deadline)/2))
	}
	turn := s.partsOfListing()
	for len(turn) > 0 && !sweep.ends() {
		part := turn[0]
		turn = turn[1:]
		page, err := s.expired(ctx, part, before, sweep.left)
		if err != nil {
			sweep.done(false, err)
			break
		}
		for _, r := range page.Items {
			sweep.begin(ctx, runOf(r), part.listed)
		}
		if part.start = page.LastEvaluatedKey; part.start != nil {
			turn = append(turn, part)
		}
	}
	sweep.busy.Wait()
	return sweep.deleted, sweep.err
}

// partsOfListing gives the partitions of closed runs in any order: where the time does not suffice for
// all, none is always the last.
func (s *Store) partsOfListing() (parts []*partOfListing) {
	for _, status := range closedStatuses() {
		for i := range s.shards {
			parts = append(parts, &partOfListing{listed: listedKey(status, strconv.Itoa(i))})
		}
	}
	rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return parts
}

// sweep is one call of DeleteClosed.
type sweep struct {
	store  *Store
	before time.Time
	left   int           // runs that it may yet begin
	until  time.Time     // it begins nothing after that; zero: there is no limit
	places chan struct{} // of those that are deleted at one time
	busy   sync.WaitGroup

	mu      sync.Mutex
	deleted int
	err     error
}

// ends says whether to begin nothing more.
func (s *sweep) ends() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left == 0 || s.err != nil || !s.until.IsZero() && time.Now().After(s.until)
}

// begin deletes a run, once there is a place.
func (s *sweep) begin(ctx context.Context, run, listed string) {
	s.places <- struct{}{}
	if s.ends() {
		<-s.places
		return
	}
	s.left--
	s.busy.Go(func() {
		defer func() { <-s.places }()
		s.done(s.store.deleteRun(ctx, run, listed, s.before))
	})
}

func (s *sweep) done(deleted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if deleted {
		s.deleted++
	}
	if s.err == nil {
		s.err = err
	}
}

// expired lists runs of a partition that ended before a time. They also started before it, and the
// listing is in order of that; the few that it reads in vain are those that were open at that time.
func (s *Store) expired(ctx context.Context, part *partOfListing, before time.Time, limit int) (*dynamodb.QueryOutput, error) {
	return s.query(ctx, call{name: "expired"}, &dynamodb.QueryInput{
		IndexName: aws.String(listingIndex), KeyConditionExpression: aws.String("listed = :listed AND started < :started"),
		FilterExpression: aws.String("closed < :before"),
		ExpressionAttributeValues: row{":listed": text(part.listed), ":started": text(sortable(before)),
			":before": number(before.Unix())},
		Limit: aws.Int32(int32(min(limit, expiredPage))), ExclusiveStartKey: part.start,
	})
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

// DeleteLog leaves what Places keep of it until the run is deleted. It reads all notes of the run, a
// read unit for some 60 of them.
func (s *Store) DeleteLog(ctx context.Context, run string, generation int) error {
	c := call{"expire a log", run}
	_, err := s.deleteAmong(ctx, c, run, &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("pk = :run AND sk BETWEEN :from AND :to"),
		ExpressionAttributeValues: row{":run": text(partition(run)), ":from": text(logKey(generation, 0)), ":to": text(logKey(generation, longestNumber))},
	})
	if err != nil {
		return err
	}
	_, err = s.deleteAmong(ctx, c, run, &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("pk = :run AND begins_with(sk, :note)"),
		FilterExpression:          aws.String("generation = :generation"),
		ExpressionAttributeValues: row{":run": text(partition(run)), ":note": text(notePrefix), ":generation": number(int64(generation))},
	})
	return err
}

// deleteRest deletes all of a run but the row of its summary, and what Places keep of it, if they do:
// see kept.go.
func (s *Store) deleteRest(ctx context.Context, c call, run string) error {
	kept, err := s.deleteAmong(ctx, c, run, &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("pk = :run"),
		ExpressionAttributeValues: row{":run": text(partition(run))},
	})
	if err != nil || !kept {
		return err
	}
	if err := s.codec.Places.Forget(ctx, run); err != nil {
		return err
	}
	return s.deleteRow(ctx, c, &dynamodb.DeleteItemInput{Key: keyOf(partition(run), keptKey)})
}

// deleteAmong deletes the rows of a run that a query finds, but not its summary, nor the row that says
// whether Places keep something of it. It says whether they may.
func (s *Store) deleteAmong(ctx context.Context, c call, run string, of *dynamodb.QueryInput) (kept bool, err error) {
	of.ProjectionExpression, of.ConsistentRead = aws.String("pk, sk, "+saysKept), aws.Bool(true)
	for {
		out, err := s.query(ctx, c, of)
		if err != nil {
			return false, err
		}
		var sks []string
		for _, r := range out.Items {
			switch sk := textOf(r, "sk"); sk {
			case summaryKey:
				kept = kept || r[saysKept] == nil
			case keptKey:
				kept = true
			default:
				sks = append(sks, sk)
			}
		}
		if len(sks) > 0 {
			if err := s.deleteRows(ctx, c, partition(run), sks); err != nil {
				return false, err
			}
		}
		if of.ExclusiveStartKey = out.LastEvaluatedKey; of.ExclusiveStartKey == nil {
			return kept, nil
		}
	}
}
