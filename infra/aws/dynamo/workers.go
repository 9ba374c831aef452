package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// All workers share one partition, so that one query lists them: 16 of them for one read unit or
// so. A heartbeat is one write unit. A partition takes 1,000 a second, so 5,000 workers that
// heartbeat each 5 s: more than there may be ([port.MostWorkers]).

// PutWorker is one update.
func (s *Store) PutWorker(ctx context.Context, worker *port.Worker) error {
	services, err := json.Marshal(worker.Services)
	if err != nil {
		return err
	}
	return s.updateRow(ctx, call{name: "register a worker"},
		&dynamodb.UpdateItemInput{Key: keyOf(workersPartition, worker.URL),
			UpdateExpression: aws.String("SET id = :id, services = :services, #load = :load, " +
				"heartbeat = :heartbeat, registered = if_not_exists(registered, :registered)"),
			ExpressionAttributeNames: map[string]string{"#load": "load"}, // a reserved word
			ExpressionAttributeValues: row{":id": text(worker.ID), ":services": text(string(services)),
				":load":       number(worker.Load),
				":heartbeat":  number(worker.Heartbeat.UnixNano()),
				":registered": number(worker.Registered.UnixNano())}})
}

// BeatWorker is one update.
func (s *Store) BeatWorker(
	ctx context.Context, url string, load int64, at time.Time,
) (known bool, err error) {
	u := change(row{"load": number(load), "heartbeat": number(at.UnixNano())})
	err = s.updateRow(ctx, call{name: "store a worker's heartbeat"},
		&dynamodb.UpdateItemInput{Key: keyOf(workersPartition, url),
			UpdateExpression: u.expression(), ConditionExpression: aws.String("attribute_exists(sk)"),
			ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.attributes()})
	if refused(err) {
		return false, nil
	}
	return err == nil, err
}

// ListWorkers is one query, and further ones for each megabyte of workers.
func (s *Store) ListWorkers(
	ctx context.Context, query port.WorkerQuery,
) (all []*port.Worker, err error) {
	var start row
	for {
		out, err := s.query(ctx, call{name: "list workers"},
			&dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :pk"),
				ExpressionAttributeValues: row{":pk": text(workersPartition)},
				ConsistentRead:            aws.Bool(true),
				ExclusiveStartKey:         start})
		if err != nil {
			return nil, err
		}
		for _, r := range out.Items {
			found, err := workerOf(r)
			if err != nil {
				return nil, err
			}
			if query.Fits(found) {
				all = append(all, found)
			}
		}
		if start = out.LastEvaluatedKey; start == nil {
			port.SortWorkers(all)
			return all, nil
		}
	}
}

func workerOf(r row) (*port.Worker, error) {
	found := &port.Worker{ID: textOf(r, "id"), URL: textOf(r, "sk"), Load: numberOf(r, "load"),
		Heartbeat:  time.Unix(0, numberOf(r, "heartbeat")).UTC(),
		Registered: time.Unix(0, numberOf(r, "registered")).UTC()}
	if err := json.Unmarshal([]byte(textOf(r, "services")), &found.Services); err != nil {
		return nil, fmt.Errorf("%w: the services of worker %s: %w", history.ErrUnreadable,
			found.URL, err)
	}
	return found, nil
}

// DeleteWorker is one delete.
func (s *Store) DeleteWorker(ctx context.Context, url string) error {
	return s.deleteRow(ctx, call{name: "delete a worker"},
		&dynamodb.DeleteItemInput{Key: keyOf(workersPartition, url)})
}
