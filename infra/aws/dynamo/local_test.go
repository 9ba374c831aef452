//go:build dynamodb

package dynamo_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
	"github.com/reprise-run/reprise/tests/dynamolocal"
)

// client reaches the DynamoDB Local that all tests of this package share.
var client *dynamodb.Client

func TestMain(m *testing.M) {
	code := withDynamoDB(m.Run)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withDynamoDB runs something beside a DynamoDB Local of its own.
func withDynamoDB(run func() int) int {
	server, err := dynamolocal.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	connections := &http.Transport{MaxIdleConnsPerHost: 100}
	defer connections.CloseIdleConnections()
	client = dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), HTTPClient: &http.Client{Transport: connections},
	})
	return run()
}

var tables atomic.Int64

// table makes an empty table.
func table(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprint("test-", tables.Add(1))
	require.NoError(tb, dynamo.CreateTable(tb.Context(), client, name))
	tb.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		require.NoError(tb, err)
	})
	return name
}

// open makes a store over an empty table. Config names what it has of its own.
func open(tb testing.TB, config dynamo.Config) (*dynamo.Store, dynamo.Config) {
	tb.Helper()
	if config.Table == "" {
		config.Table = table(tb)
	}
	if config.Client == nil {
		config.Client = client
	}
	if config.Codec.Places == nil {
		config.Codec = offload.Codec{Places: offloadtest.New()}
	}
	return dynamo.New(config), config
}
