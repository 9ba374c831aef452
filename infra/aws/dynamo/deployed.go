package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/core/port"
)

// deployedKey is the sort key of the row that says which code functions/activate runs, where nothing but
// the code itself tells.
const deployedKey = "deployed"

// Deploy notes the version of the code that runs, and from when on, if it is another one than before.
func (s *Store) Deploy(ctx context.Context, version string) error {
	u := change(row{"version": text(version), "since": number(s.now().UnixNano())})
	condition := "attribute_not_exists(#version) OR #version <> :version"
	err := s.updateRow(ctx, call{name: "note the version"}, &dynamodb.UpdateItemInput{Key: keyOf(keyPartition, deployedKey),
		UpdateExpression: u.expression(), ConditionExpression: &condition,
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.attributes()})
	if refused(err) {
		return nil
	}
	return err
}

// Deployed gives the version that [Store.Deploy] noted last; "" if it noted none.
func (s *Store) Deployed(ctx context.Context) (port.Deployment, error) {
	r, err := s.getRow(ctx, call{name: "read the version"}, keyPartition, deployedKey)
	return port.Deployment{Learned: true, Version: textOf(r, "version"),
		Since: time.Unix(0, numberOf(r, "since")).UTC()}, err
}
