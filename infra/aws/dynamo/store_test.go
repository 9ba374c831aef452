//go:build dynamodb

package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port/porttest"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

func TestStore(t *testing.T) {
	porttest.TestStores(t, func(t *testing.T) porttest.Stores {
		t.Helper()
		s, config := open(t, dynamo.Config{})
		return stores(s, config)
	}, porttest.Capabilities{})
}

// stores are opened again as another process would: with nothing but the table and the places.
func stores(s *dynamo.Store, config dynamo.Config) porttest.Stores {
	tamper := func(t *testing.T, run, sk string, change func([]byte) []byte) {
		t.Helper()
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "run#" + run}, "sk": &types.AttributeValueMemberS{Value: sk}}
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &config.Table, Key: key, ConsistentRead: aws.Bool(true)})
		require.NoError(t, err)
		body, ok := out.Item["body"].(*types.AttributeValueMemberS) // none here is long enough to be packed
		require.True(t, ok, sk)
		out.Item["body"] = &types.AttributeValueMemberS{Value: string(change([]byte(body.Value)))}
		_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &config.Table, Item: out.Item})
		require.NoError(t, err)
	}
	return porttest.Stores{Runs: s, Directory: s, Due: s, Tasks: s, Catalog: s, Workers: s,
		DeleteClosed: s.DeleteClosed,
		TamperRecord: func(t *testing.T, run string, generation, number int, change func([]byte) []byte) {
			t.Helper()
			tamper(t, run, fmt.Sprintf("log#%09d#%09d", generation, number), change)
		},
		TamperItem: func(t *testing.T, run, key string, change func([]byte) []byte) {
			t.Helper()
			tamper(t, run, "new#"+key, change)
		},
		TamperSummary: func(t *testing.T, run string, change func([]byte) []byte) {
			t.Helper()
			tamper(t, run, "run", change)
		},
		Reopen: func(t *testing.T) porttest.Stores {
			t.Helper()
			return stores(dynamo.New(config), config)
		}}
}
