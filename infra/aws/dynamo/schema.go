package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Indexes. Only summaries are in them, and in the second only those of blocked runs: no other row has their attributes.
const (
	listingIndex = "listing"
	blockedIndex = "blocked"
)

// Schema is the table: what template.yaml deploys.
func Schema(table string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{textAttribute("pk"), textAttribute("sk"), textAttribute("listed"), textAttribute("stuck"), textAttribute("started")},
		KeySchema:            keySchema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String(listingIndex), KeySchema: keySchema("listed", "started"),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"workflow", "closed"}}},
			{IndexName: aws.String(blockedIndex), KeySchema: keySchema("stuck", "started"),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
		},
	}
}

func textAttribute(name string) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
}

func keySchema(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
}

// Creator is what [CreateTable] calls of DynamoDB's client.
type Creator interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// CreateTable makes the table, and returns once it can be used: seconds, one minute at most. Deployments do without it: their
// template has the table.
func CreateTable(ctx context.Context, client Creator, table string) error {
	if _, err := client.CreateTable(ctx, Schema(table)); err != nil {
		return fmt.Errorf("DynamoDB: table %q was not created: %w", table, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, time.Minute); err != nil {
		return fmt.Errorf("DynamoDB: table %q was created, but is not ready: %w", table, err)
	}
	return nil
}
