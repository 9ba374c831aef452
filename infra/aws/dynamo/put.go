package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/port"
)

// absent is the condition that there is no row of the key that is written.
const absent = "attribute_not_exists(pk)"

// Put is one conditional write where it puts nothing but a record, which costs one unit per KB; else one transaction, which
// costs two. A record alone it puts whether there is a run or not.
//
// Where the answer to a put is lost and the client repeats it, the put may meet its own record:
// that is [port.ErrTaken], and the engine knows its own. Generations and records go up to
// 999,999,999.
func (s *Store) Put(ctx context.Context, commit *port.Commit) error {
	if err := checkNumbers(commit); err != nil {
		return err
	}
	c := call{"put", commit.Run}
	t := &transaction{}
	if commit.Record != nil {
		put, err := s.recordPut(ctx, commit)
		if err != nil {
			return err
		}
		if commit.Summary == nil && commit.Next == nil {
			err := s.putRow(ctx, c, &dynamodb.PutItemInput{Item: put.Item, ConditionExpression: put.ConditionExpression})
			if refused(err) {
				return takenRecord(commit)
			}
			return err
		}
		t.put(put, func(row) error { return takenRecord(commit) })
	}
	if commit.Summary != nil {
		if err := s.replaceSummary(ctx, t, commit); err != nil {
			return err
		}
	}
	if commit.Next != nil {
		next, err := s.itemRow(ctx, commit.Run, *commit.Next)
		if err != nil {
			return err
		}
		t.put(&types.Put{TableName: &s.table, Item: next}, nil)
	}
	if len(t.writes) == 0 {
		return nil
	}
	return s.commit(ctx, c, t)
}

func checkNumbers(commit *port.Commit) error {
	numbers := []int{commit.Generation}
	if commit.Record != nil {
		numbers = append(numbers, commit.Record.Number)
	}
	if commit.Summary != nil {
		numbers = append(numbers, commit.Summary.Generation)
	}
	for _, n := range numbers {
		if n < 0 || n > longestNumber {
			return &port.Error{Code: port.TooLarge, Message: fmt.Sprintf(
				"run %q: numbers of generations and records go up to %d, this is %d: continue as new before that, or start another run", commit.Run, longestNumber, n)}
		}
	}
	return nil
}

func takenRecord(commit *port.Commit) error {
	return fmt.Errorf("record %d of generation %d of %w", commit.Record.Number, commit.Generation, taken(commit.Run))
}

func (s *Store) recordPut(ctx context.Context, commit *port.Commit) (*types.Put, error) {
	content, err := s.codec.EncodeRecord(ctx, commit.Run, commit.Record)
	if err != nil {
		return nil, err
	}
	body, err := s.body(ctx, commit.Run, content)
	if err != nil {
		return nil, err
	}
	r := keyOf(partition(commit.Run), logKey(commit.Generation, commit.Record.Number))
	r["body"] = body
	return &types.Put{TableName: &s.table, Item: r, ConditionExpression: aws.String(absent)}, nil
}

// replaceSummary updates a summary in place, on condition that it is still of the commit's generation: the block, which
// others put there meanwhile, stays.
func (s *Store) replaceSummary(ctx context.Context, t *transaction, commit *port.Commit) error {
	set, err := s.summaryRow(ctx, commit.Run, commit.Summary)
	if err != nil {
		return err
	}
	var remove []string
	if set["closed"] == nil {
		remove = append(remove, "closed")
	}
	s.updateSummary(t, commit.Run, commit.Generation, change(set, remove...))
	return nil
}

// updateSummary changes a summary, on condition that it is of a generation.
func (s *Store) updateSummary(t *transaction, run string, generation int, u *update) {
	condition := u.name("generation") + " = " + u.value("before", number(int64(generation)))
	t.update(&types.Update{TableName: &s.table, Key: keyOf(partition(run), summaryKey), UpdateExpression: u.expression(),
		ConditionExpression: &condition, ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.attributes(),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld},
		func(there row) error {
			if !isRun(there) {
				return noRun(run)
			}
			return fmt.Errorf("generation %d of %w by generation %d", generation, taken(run), numberOf(there, "generation"))
		})
}
