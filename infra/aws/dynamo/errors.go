package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/reprise-run/reprise/core/port"
)

// call is one thing that is done: its name in errors, and the meter's.
type call struct {
	name string
	run  string // empty: it concerns no single run
}

func (c call) String() string {
	if c.run == "" {
		return "DynamoDB: " + c.name
	}
	return fmt.Sprintf("DynamoDB: %s of run %q", c.name, c.run)
}

// explain says what was being done when an error occurred. All errors are [port.ErrUnavailable] but
// those that would come again: what DynamoDB refuses because of what it was sent. Access denied, an
// expired credential or a missing table are no fault of the run: nobody may take them for one, and
// they pass once somebody has put them right.
func (c call) explain(err error) error {
	if refused(err) || permanent(err) {
		return fmt.Errorf("%s: %w", c, err)
	}
	return fmt.Errorf("%s: %w: %w", c, port.ErrUnavailable, err)
}

// refused says that a condition was not met. It is an answer, not a fault.
func refused(err error) bool {
	var failed *types.ConditionalCheckFailedException
	return errors.As(err, &failed)
}

// inTheWay gives the row that was there, where a put was refused that asked for it.
func inTheWay(err error) (row, bool) {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, true
	}
	return nil, false
}

// Codes of the reasons for which a transaction is cancelled.
const (
	reasonRefused  = "ConditionalCheckFailed"
	reasonConflict = "TransactionConflict"
)

// permanent says that the same request would fail again.
func permanent(err error) bool {
	for _, reason := range reasonsOf(err) {
		switch code(reason) {
		case "ValidationError", "ItemCollectionSizeLimitExceeded":
			return true
		}
	}
	var params smithy.InvalidParamsError
	var serialization *smithy.SerializationError
	if errors.As(err, &params) || errors.As(err, &serialization) {
		return true
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.ErrorCode() {
	case "ValidationException", "ItemCollectionSizeLimitExceededException", "IdempotentParameterMismatchException", "SerializationException":
		return true
	}
	return false
}

// passing says that an error will pass in moments, and that the client does not retry it by itself: another transaction has
// the item in its hands, or one part of a transaction was throttled.
func passing(err error) bool {
	var conflict *types.TransactionConflictException
	if errors.As(err, &conflict) {
		return true
	}
	reasons := reasonsOf(err)
	return !permanent(err) && !slices.ContainsFunc(reasons, isRefusal) && slices.ContainsFunc(reasons, func(r types.CancellationReason) bool {
		switch code(r) {
		case reasonConflict, "ThrottlingError", "ProvisionedThroughputExceeded":
			return true
		}
		return false
	})
}

// reasonsOf gives why a transaction was cancelled, for each of its writes in their order; none for other errors.
func reasonsOf(err error) []types.CancellationReason {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return cancelled.CancellationReasons
	}
	return nil
}

func code(r types.CancellationReason) string {
	if r.Code == nil {
		return ""
	}
	return *r.Code
}

func isRefusal(r types.CancellationReason) bool { return code(r) == reasonRefused }

func noRun(run string) error { return fmt.Errorf("run %q: %w", run, port.ErrNoRun) }

func taken(run string) error { return fmt.Errorf("run %q: %w", run, port.ErrTaken) }

// attempts to do what is in another's hands for moments: some seconds in all.
const attempts = 10

// persist does something until it is done, fails for good, or was tried often enough. Do says whether to try again, and why.
func (s *Store) persist(ctx context.Context, do func() (again bool, err error)) error {
	for attempt := 1; ; attempt++ {
		again, err := do()
		if !again || attempt == attempts {
			return err
		}
		if waited := s.pause(ctx, attempt); waited != nil {
			return errors.Join(err, waited)
		}
	}
}
