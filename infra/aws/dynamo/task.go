package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/port"
)

// SaveTask is one update. That an activity was asked to stop is an attribute of its own, which no save removes.
func (s *Store) SaveTask(ctx context.Context, state *port.TaskState) error {
	body, err := s.taskBody(ctx, state)
	if err != nil {
		return err
	}
	set := row{"body": body}
	if state.Cancelled {
		set["cancelled"] = &types.AttributeValueMemberBOOL{Value: true}
	}
	return s.updateTask(ctx, call{"save task", state.Run}, state.TaskKey, change(set))
}

// CancelTask is one update.
func (s *Store) CancelTask(ctx context.Context, key port.TaskKey) error {
	bare, err := s.taskBody(ctx, &port.TaskState{TaskKey: key})
	if err != nil {
		return err
	}
	u := change(row{"cancelled": &types.AttributeValueMemberBOOL{Value: true}})
	body := u.name("body")
	u.set = append(u.set, body+" = if_not_exists("+body+", "+u.value("body", bare)+")")
	return s.updateTask(ctx, call{"cancel task", key.Run}, key, u)
}

func (s *Store) taskBody(ctx context.Context, state *port.TaskState) (types.AttributeValue, error) {
	content, err := s.codec.EncodeTask(ctx, state)
	if err != nil {
		return nil, err
	}
	return s.body(ctx, state.Run, content)
}

func (s *Store) updateTask(ctx context.Context, c call, key port.TaskKey, u *update) error {
	return s.updateRow(ctx, c, &dynamodb.UpdateItemInput{Key: keyOf(partition(key.Run), taskKey(key)), UpdateExpression: u.expression(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.attributes()})
}

// LoadTask is one strongly consistent read.
func (s *Store) LoadTask(ctx context.Context, key port.TaskKey) (*port.TaskState, error) {
	r, err := s.getRow(ctx, call{"load task", key.Run}, partition(key.Run), taskKey(key))
	if err != nil || r == nil {
		return nil, err
	}
	return s.readTask(ctx, r)
}

// TasksOf is one strongly consistent query.
func (s *Store) TasksOf(ctx context.Context, run string) (states []*port.TaskState, err error) {
	var start row
	for {
		out, err := s.query(ctx, call{"tasks", run}, &dynamodb.QueryInput{
			KeyConditionExpression:    aws.String("pk = :run AND begins_with(sk, :task)"),
			ExpressionAttributeValues: row{":run": text(partition(run)), ":task": text(taskPrefix)},
			ConsistentRead:            aws.Bool(true), ExclusiveStartKey: start,
		})
		if err != nil {
			return nil, err
		}
		for _, r := range out.Items {
			state, err := s.readTask(ctx, r)
			if err != nil {
				return nil, err
			}
			states = append(states, state)
		}
		if start = out.LastEvaluatedKey; start == nil {
			break
		}
	}
	slices.SortFunc(states, func(a, b *port.TaskState) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq))
	})
	return states, nil
}

// DeleteTask is one delete. One that is not there is no error.
func (s *Store) DeleteTask(ctx context.Context, key port.TaskKey) error {
	return s.deleteRow(ctx, call{"delete task", key.Run}, &dynamodb.DeleteItemInput{Key: keyOf(partition(key.Run), taskKey(key))})
}

func (s *Store) readTask(ctx context.Context, r row) (*port.TaskState, error) {
	content, err := content(ctx, s.codec, r)
	var state *port.TaskState
	if err == nil {
		state, err = s.codec.DecodeTask(ctx, runOf(r), content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of run %q: %w", textOf(r, "sk"), runOf(r), err)
	}
	if r["cancelled"] != nil {
		state.Cancelled = true
	}
	return state, nil
}
