package dynamo

import (
	"context"
	"sync/atomic"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/infra/aws/offload"
)

// longestBody is how many bytes of an item its body may have. DynamoDB's limit is 400 KB with keys and names; a summary has
// a block beside its body, whose message may be long.
const longestBody = 350 << 10

// body gives a text's attribute: text where a person could read it, else bytes.
func (s *Store) body(ctx context.Context, run string, content []byte) (types.AttributeValue, error) {
	packed, err := s.codec.Pack(ctx, run, content, longestBody)
	if err != nil {
		return nil, err
	}
	if len(packed) > 0 && packed[0] == '{' && utf8.Valid(packed) {
		return &types.AttributeValueMemberS{Value: string(packed)}, nil
	}
	return &types.AttributeValueMemberB{Value: packed}, nil
}

// packedOf gives a row's body as it is stored.
func packedOf(r row) []byte {
	switch value := r["body"].(type) {
	case *types.AttributeValueMemberS:
		return []byte(value.Value)
	case *types.AttributeValueMemberB:
		return value.Value
	}
	return nil
}

// content gives what a row's body says.
func content(ctx context.Context, codec offload.Codec, r row) ([]byte, error) {
	return codec.Unpack(ctx, packedOf(r))
}

// weighing are places that count the bytes fetched: a short record may be megabytes of payload.
type weighing struct {
	offload.Places
	fetched atomic.Int64
}

func (w *weighing) Fetch(ctx context.Context, place string) ([]byte, error) {
	data, err := w.Places.Fetch(ctx, place)
	w.fetched.Add(int64(len(data)))
	return data, err
}
