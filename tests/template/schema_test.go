package template

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// schema is what the template and the store's own tests must agree on: keys and indexes.
type schema struct {
	BillingMode            types.BillingMode
	AttributeDefinitions   []types.AttributeDefinition
	KeySchema              []types.KeySchemaElement
	GlobalSecondaryIndexes []types.GlobalSecondaryIndex
}

// TestTheTableIsTheStores: the store is tested on the table that it makes itself, and deployed on the template's.
func TestTheTableIsTheStores(t *testing.T) {
	var written map[string]any
	properties := parse(t).Resources["Table"].Properties
	require.NoError(t, only(&properties, "BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes").Decode(&written))
	text, err := json.Marshal(written)
	require.NoError(t, err)
	var deployed schema
	require.NoError(t, json.Unmarshal(text, &deployed))
	tested := dynamo.Schema("")
	require.Equal(t, schema{tested.BillingMode, tested.AttributeDefinitions, tested.KeySchema, tested.GlobalSecondaryIndexes}, deployed)
}

// only is a mapping without its other members.
func only(mapping *yaml.Node, names ...string) *yaml.Node {
	kept := *mapping
	kept.Content = nil
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		for _, name := range names {
			if mapping.Content[i].Value == name {
				kept.Content = append(kept.Content, mapping.Content[i], mapping.Content[i+1])
			}
		}
	}
	return &kept
}
