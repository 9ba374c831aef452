package dynamo

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// shardsKey is the sort key of the row that says how many shards the table has runs in, at most.
const shardsKey = "shards"

// CheckShards notes in the table how many shards this store uses. It is an error if the table has runs
// in more of them: this store would neither list those runs nor delete them.
func (s *Store) CheckShards(ctx context.Context) error {
	c := call{name: "check the shards"}
	u := change(row{"shards": number(int64(s.shards))})
	condition := "attribute_not_exists(#shards) OR #shards <= :shards"
	err := s.updateRow(ctx, c, &dynamodb.UpdateItemInput{Key: keyOf(keyPartition, shardsKey), UpdateExpression: u.expression(),
		ConditionExpression: &condition, ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.attributes()})
	if !refused(err) {
		return err
	}
	r, err := s.getRow(ctx, c, keyPartition, shardsKey)
	if err != nil {
		return err
	}
	return fmt.Errorf("table %s has runs in %s shards, and this deployment knows %d: set its parameter Shards to %[2]s or more",
		s.table, strconv.FormatInt(numberOf(r, "shards"), 10), s.shards)
}
