package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/history"
)

// tokenBytes is how long the key of tokens is.
const tokenBytes = 32

// TokenKey gives the key that signs completion tokens: random, made by whoever asks first, and the same ever after.
func (s *Store) TokenKey(ctx context.Context) ([]byte, error) {
	c := call{name: "token key"}
	r, err := s.getRow(ctx, c, keyPartition, tokenKey)
	if err == nil && r == nil {
		r, err = s.makeTokenKey(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if key, ok := r["body"].(*types.AttributeValueMemberB); ok && len(key.Value) == tokenBytes {
		return key.Value, nil
	}
	return nil, fmt.Errorf("%w: the key of tokens is not %d bytes: delete it (pk %q, sk %q), and all tokens that were given out are void",
		history.ErrUnreadable, tokenBytes, keyPartition, tokenKey)
}

func (s *Store) makeTokenKey(ctx context.Context, c call) (row, error) {
	key := make([]byte, tokenBytes)
	_, _ = rand.Read(key) // it never fails
	r := keyOf(keyPartition, tokenKey)
	r["body"] = &types.AttributeValueMemberB{Value: key}
	err := s.putRow(ctx, c, &dynamodb.PutItemInput{Item: r, ConditionExpression: aws.String(absent)})
	if refused(err) {
		return s.getRow(ctx, c, keyPartition, tokenKey)
	}
	return r, err
}
