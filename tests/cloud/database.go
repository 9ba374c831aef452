package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// Database is a DynamoDB Local, in memory, on a loopback port of its own.
type Database struct {
	Client  *dynamodb.Client
	config  awssdk.Config
	process *exec.Cmd
	tables  atomic.Int32
}

// StartDatabase starts one from a folder of jars, and waits until it answers: 30 seconds at most.
func StartDatabase(ctx context.Context, jars string) (*Database, error) {
	if found, err := filepath.Glob(filepath.Join(jars, "DynamoDBLocal-*.jar")); err != nil || jars == "" || len(found) == 0 {
		return nil, errors.New("there is no DynamoDB Local: `make dynamodb-local` installs it, and DYNAMODB_LOCAL names the folder with its jars")
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	d := &Database{process: exec.CommandContext(ctx, "java", "-Djava.library.path="+jars, "-cp", filepath.Join(jars, "*"),
		"software.amazon.dynamodb.services.local.main.ServerRunner", "-inMemory", "-sharedDb", "-port", strconv.Itoa(port))}
	d.process.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	d.process.Stdout, d.process.Stderr = io.Discard, io.Discard
	if err := d.process.Start(); err != nil {
		return nil, fmt.Errorf("DynamoDB Local did not start: %w", err)
	}
	endpoint := "http://127.0.0.1:" + strconv.Itoa(port)
	loaded, err := aws.Load(ctx, config.WithRegion("eu-central-1"), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")),
		config.WithBaseEndpoint(endpoint))
	if err != nil {
		d.Stop()
		return nil, err
	}
	d.config, d.Client = loaded, dynamo.NewClient(loaded)
	if err := d.await(ctx, endpoint); err != nil {
		return nil, err
	}
	return d, nil
}

func freePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// await waits until it answers anything.
func (d *Database) await(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			d.Stop()
			return fmt.Errorf("DynamoDB Local does not answer: %w", err)
		}
	}
}

// Through gives a client whose requests go another way, with faults on it.
func (d *Database) Through(transport http.RoundTripper) *dynamodb.Client {
	through := d.config.Copy()
	through.HTTPClient = &http.Client{Transport: transport}
	return dynamo.NewClient(through)
}

// Table makes a new table and gives its name.
func (d *Database) Table(ctx context.Context) (string, error) {
	name := fmt.Sprint("cloud-", d.tables.Add(1))
	return name, dynamo.CreateTable(ctx, d.Client, name)
}

// Stop ends it. What it kept is gone.
func (d *Database) Stop() {
	_ = d.process.Process.Kill() // it keeps nothing
	_ = d.process.Wait()
}
