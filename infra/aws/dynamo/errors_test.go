package dynamo

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

func answered(err error) error {
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "PutItem", Err: err}
}

func cancelled(codes ...string) error {
	e := &types.TransactionCanceledException{}
	for _, code := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	return answered(e)
}

func TestErrorsAreExplained(t *testing.T) {
	for name, c := range map[string]struct {
		err         error
		unavailable bool
		again       bool
	}{
		"throttled":          {answered(&types.ProvisionedThroughputExceededException{}), true, false},
		"failed":             {answered(&types.InternalServerError{}), true, false},
		"out of reach":       {answered(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), true, false},
		"gone away":          {answered(context.DeadlineExceeded), true, false},
		"no such table":      {answered(&types.ResourceNotFoundException{}), true, false},
		"not allowed":        {answered(&smithy.GenericAPIError{Code: "AccessDeniedException"}), true, false},
		"met":                {answered(&types.TransactionConflictException{}), true, true},
		"met in transaction": {cancelled("None", "TransactionConflict"), true, true},
		"throttled in part":  {cancelled("ThrottlingError", "None"), true, true},
		"too much in part":   {cancelled("None", "ProvisionedThroughputExceeded"), true, true},
		"nobody knows why":   {cancelled("None"), true, false},
		"left over":          {answered(errLeftOver), true, false},
		"invalid":            {answered(&smithy.GenericAPIError{Code: "ValidationException"}), false, false},
		"invalid in part":    {cancelled("TransactionConflict", "ValidationError"), false, false},
		"collection full":    {answered(&types.ItemCollectionSizeLimitExceededException{}), false, false},
		"not sent":           {answered(&smithy.SerializationError{Err: errors.New("no")}), false, false},
		"incomplete":         {answered(smithy.InvalidParamsError{}), false, false},
		"refused":            {answered(&types.ConditionalCheckFailedException{}), false, false},
	} {
		got := call{"put", "r"}.explain(c.err)
		require.Equal(t, c.unavailable, errors.Is(got, port.ErrUnavailable), name)
		require.ErrorContains(t, got, c.err.Error(), name)
		require.ErrorContains(t, got, `DynamoDB: put of run "r": `)
		require.Equal(t, c.again, passing(c.err), name)
	}
	require.ErrorIs(t, call{name: "list"}.explain(answered(context.Canceled)), context.Canceled, "whoever gave up knows")
	require.ErrorContains(t, call{name: "list"}.explain(errLeftOver), "DynamoDB: list: unavailable: throttled")
}

// scripted is a client that answers to writes as it is told.
type scripted struct {
	Client
	answers []error
}

func (s *scripted) next() error {
	if len(s.answers) == 0 {
		return nil
	}
	err := s.answers[0]
	s.answers = s.answers[1:]
	return err
}

func (s *scripted) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, s.next()
}

func (s *scripted) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, s.next()
}

func TestWhoMeetsATransactionTriesAgain(t *testing.T) {
	conflict, refusal := cancelled("None", "TransactionConflict"),
		answered(&types.ConditionalCheckFailedException{})
	transaction := &port.Commit{Run: "r", Generation: 1, Record: &history.Record{Number: 1},
		Summary: &port.Summary{Run: "r", Generation: 1}}
	record := &port.Commit{Run: "r", Generation: 1, Record: &history.Record{Number: 1}}
	throughout := make([]error, attempts)
	for i := range throughout {
		throughout[i] = conflict
	}
	for name, c := range map[string]struct {
		commit  *port.Commit
		answers []error
		want    error
	}{
		"done at last": {transaction, []error{conflict, conflict}, nil},
		"taken meanwhile": {transaction,
			[]error{conflict, cancelled("ConditionalCheckFailed",
				"TransactionConflict")}, port.ErrTaken},
		"no run": {transaction, []error{cancelled("None", "ConditionalCheckFailed")},
			port.ErrNoRun},
		"for too long": {transaction, throughout, port.ErrUnavailable},
		"a record": {record, []error{answered(&types.TransactionConflictException{})},
			nil},
		"a record, taken": {record, []error{answered(&types.TransactionConflictException{}),
			refusal}, port.ErrTaken},
		"a record, unavailable": {record, []error{answered(&types.InternalServerError{})},
			port.ErrUnavailable},
	} {
		client := &scripted{answers: c.answers}
		s := New(Config{Client: client, Table: "t"})
		s.Hurry()
		err := s.Put(t.Context(), c.commit)
		require.ErrorIs(t, err, c.want, name)
		require.Empty(t, client.answers, name)
	}
}

func TestWhoGivesUpDoesNotTryAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client := &scripted{answers: []error{answered(&types.TransactionConflictException{}), nil}}
	s := New(Config{Client: client, Table: "t"})
	err := s.Put(ctx, &port.Commit{Run: "r", Generation: 1, Record: &history.Record{Number: 1}})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.Len(t, client.answers, 1)
}
