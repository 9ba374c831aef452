// Package dynamo is the store of a deployment: the ports of core/engine that keep something, on one DynamoDB table.
//
// One partition holds all of a run, its sort keys in such an order (keys.go) that one backward query meets the summary, then
// the inbox, then the log from its end (look.go). A record is one conditional put; only where a summary changes with it do
// both go into one transaction (put.go). Two sparse indexes list summaries (directory.go), and nothing else.
//
// The stored form of events, records and summaries is infra/aws/offload's. This package knows nothing of queues.
package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/offload"
)

// Client is what this package calls of DynamoDB's client. Retrying of throttled and failed requests is the client's.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Meter is told what each request cost, in read and write units, indexes included. The operation has DynamoDB's name for it.
// The run is empty where a request concerns no single run. A request that failed, or that a condition refused, is not counted.
type Meter interface {
	Count(run, operation string, reads, writes float64)
}

// Config of a store.
type Config struct {
	Client Client
	// Table is the name of the table: see [CreateTable].
	Table string
	// Codec is the stored form of what goes into the table.
	Codec offload.Codec
	// Meter may be nil.
	Meter Meter
	// Shards is how many partitions the listing has for each status, and the index of blocked runs. Each
	// takes 1,000 write units a second; a start, an end and an attribute's change need one or two. Zero: 8,
	// which is also the least. It may be raised later, and not lowered: see [Store.CheckShards].
	Shards int
}

// Store implements [port.Runs], [port.Directory], [port.Due], [port.Tasks] and [port.Catalog]. It
// may be used by any number of goroutines and processes.
//
// A method blocks for as long as its requests take and no longer than its context lives. What
// DynamoDB did not do, or did not say, is [port.ErrUnavailable]; it may have been done all the
// same.
type Store struct {
	client Client
	table  string
	codec  offload.Codec
	meter  Meter
	shards int
	// returns has DynamoDB say what a request cost, where somebody wants to know.
	returns types.ReturnConsumedCapacity

	buckets *names
	now     func() time.Time
	pause   func(ctx context.Context, attempt int) error
}

// New makes a store over a table that is there.
func New(config Config) *Store {
	s := &Store{client: config.Client, table: config.Table, codec: config.Codec, meter: config.Meter, shards: max(config.Shards, fewestShards), now: time.Now, pause: aws.Pause,
		buckets: &names{}}
	if s.codec.Places != nil {
		s.codec.Places = &saying{Places: s.codec.Places, store: s, said: &names{}}
	}
	if s.meter != nil {
		s.returns = types.ReturnConsumedCapacityTotal
	}
	return s
}

// each is aws.Each: in the other files, aws is the SDK's package.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return aws.Each(ctx, n, do)
}
