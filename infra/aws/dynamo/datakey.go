package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// dataKey begins the sort keys of data keys; their ids follow.
const dataKey = "data#"

// WrappedKey gives the data key of an id in its encrypted form, which values of this table are sealed with; "" if there is none. It
// is one strongly consistent read. See infra/aws/kms.
func (s *Store) WrappedKey(ctx context.Context, id string) (string, error) {
	r, err := s.getRow(ctx, call{name: "data key"}, keyPartition, dataKey+id)
	return textOf(r, "body"), err
}

// AddWrappedKey keeps a data key, if there is none of its id, and gives the one that is there then.
func (s *Store) AddWrappedKey(ctx context.Context, id, wrapped string) (there string, err error) {
	r := keyOf(keyPartition, dataKey+id)
	r["body"] = text(wrapped)
	err = s.putRow(ctx, call{name: "data key"}, &dynamodb.PutItemInput{Item: r, ConditionExpression: aws.String(absent)})
	if refused(err) {
		return s.WrappedKey(ctx, id)
	}
	return wrapped, err
}
