//go:build dynamodb

package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
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

// serve runs Java until standard input ends: also where a test that panics takes this process with it.
const serve = `java "$@" & read -r _; kill $!; wait`

// withDynamoDB runs something beside a DynamoDB Local of its own, whose jars are in the folder that DYNAMODB_LOCAL names.
func withDynamoDB(run func() int) int {
	folder := os.Getenv("DYNAMODB_LOCAL")
	if folder == "" {
		fmt.Fprintln(os.Stderr, "These tests need Java and DynamoDB Local: run `make dynamodb-local`, and name the folder with its jars in the environment variable DYNAMODB_LOCAL.")
		return 1
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	port, err := freePort()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var says bytes.Buffer
	server := exec.Command("sh", "-c", serve, "sh", "-Djava.library.path="+folder, "-cp", filepath.Join(folder, "*"),
		"software.amazon.dynamodb.services.local.main.ServerRunner", "-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port))
	server.Dir = os.TempDir() // it writes where it stands
	server.Stdout, server.Stderr = &says, &says
	lives, err := server.StdinPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "DynamoDB Local does not start:", err)
		return 1
	}
	connections := &http.Transport{MaxIdleConnsPerHost: 100}
	client = dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(fmt.Sprintf("http://127.0.0.1:%d", port)),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), HTTPClient: &http.Client{Transport: connections},
	})
	code, silent := 1, answers(port)
	if silent == nil {
		code = run()
	}
	connections.CloseIdleConnections()
	_ = lives.Close()
	_ = server.Wait() // it was killed
	if silent != nil {
		fmt.Fprintf(os.Stderr, "DynamoDB Local does not answer: %v\n%s", silent, says.String())
	}
	return code
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// answers waits until the server accepts connections, a minute at most.
func answers(port int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-again.C:
		}
	}
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
