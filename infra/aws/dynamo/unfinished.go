package dynamo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Unfinished scans the whole table, 1 MB a page: it is for rebuilding what was in the queues, not for every day. A page may be
// empty although more follow. What is filed for a run that is not there is given, too.
func (s *Store) Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error) {
	var at scanned
	if cursor != "" {
		if at, err = parseScanned(cursor); err != nil {
			return nil, "", err
		}
	}
	c := call{name: "unfinished"}
	in := &dynamodb.ScanInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: s.returns, ProjectionExpression: aws.String("pk, sk"),
		FilterExpression: aws.String("begins_with(pk, :run) AND (begins_with(sk, :item) OR " +
			"sk = :summary AND attribute_exists(generation) AND NOT #status IN (:completed, :failed, :cancelled, :terminated))"),
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: row{
			":run": text(runPrefix), ":item": text(itemPrefix), ":summary": text(summaryKey),
			":completed": text(string(history.Completed)), ":failed": text(string(history.Failed)),
			":cancelled": text(string(history.Cancelled)), ":terminated": text(string(history.Terminated)),
		},
	}
	if at.PK != "" {
		in.ExclusiveStartKey = keyOf(at.PK, at.SK)
	}
	out, err := s.client.Scan(ctx, in)
	if err != nil {
		return nil, "", c.explain(err)
	}
	s.read(c, "Scan", out.ConsumedCapacity)
	last := at.Given
	for _, r := range out.Items {
		if run := strings.TrimPrefix(textOf(r, "pk"), runPrefix); run != last || last == "" {
			runs, last = append(runs, run), run
		}
	}
	if out.LastEvaluatedKey == nil {
		return runs, "", nil
	}
	return runs, scanned{textOf(out.LastEvaluatedKey, "pk"), textOf(out.LastEvaluatedKey, "sk"), last}.String(), nil
}

// scanned is how far a scan has come. The rows of one run lie side by side, but a page may end among them: Given is the last
// run that was given, which the next page does not give again.
type scanned struct {
	PK    string `json:"pk"`
	SK    string `json:"sk"`
	Given string `json:"given,omitempty"`
}

func (p scanned) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic("text always encodes: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseScanned(cursor string) (p scanned, err error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.PK == "" || p.SK == "" || max(len(p.PK), len(p.SK)) > longestKey {
		return p, &port.Error{Code: port.Invalid,
			Message: fmt.Sprintf("%.100q is no cursor of unfinished runs: take it from the page "+
				"before", cursor)}
	}
	return p, nil
}
