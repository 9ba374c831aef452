package cloud

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/tests/dynamolocal"
)

// Database is a DynamoDB Local, and tables in it.
type Database struct {
	server *dynamolocal.Server
	tables atomic.Int32
}

// StartDatabase starts one: see dynamolocal.
func StartDatabase(ctx context.Context) (*Database, error) {
	server, err := dynamolocal.Start(ctx)
	return &Database{server: server}, err
}

// Client gives a client as the functions have it, whose requests go by a transport of the caller's. Nil: the usual one.
func (d *Database) Client(ctx context.Context, transport http.RoundTripper) (*dynamodb.Client, error) {
	loaded, err := load(ctx, d.server.URL, transport)
	if err != nil {
		return nil, err
	}
	return dynamo.NewClient(loaded), nil
}

// load gives the configuration that the functions have, but for where a service is, and how its requests get there.
func load(ctx context.Context, endpoint string, transport http.RoundTripper) (sdk.Config, error) {
	loaded, err := aws.Load(ctx, config.WithRegion("eu-central-1"), config.WithBaseEndpoint(endpoint),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")))
	if err == nil && transport != nil {
		loaded.HTTPClient = &http.Client{Transport: transport}
	}
	return loaded, err
}

// Table makes a new table and gives its name.
func (d *Database) Table(ctx context.Context) (string, error) {
	// A server that has just been started may take longer than the functions' client waits, which would then ask again for a
	// table that is there.
	client, err := d.Client(ctx, http.DefaultTransport)
	if err != nil {
		return "", err
	}
	name := fmt.Sprint("cloud-", d.tables.Add(1))
	return name, dynamo.CreateTable(ctx, client, name)
}

// URL is where it answers.
func (d *Database) URL() string { return d.server.URL }

// Stop ends it. What it kept is gone.
func (d *Database) Stop() { d.server.Stop() }
