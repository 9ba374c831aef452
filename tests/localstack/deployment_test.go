//go:build localstack

package localstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/s3"
)

const (
	stack = "trials"
	// patience is how long anything may take here: LocalStack is slow, and two cores do all.
	patience = 3 * time.Minute
)

// parameters have everything happen sooner than where it matters what it costs. The last ones are
// options of the template that LocalStack is to take, as CloudFormation does.
var parameters = []string{"ActivateTimeout=10", "TaskTimeout=5", "DeadletterTimeout=10", "ResumesVisibility=14", "TasksVisibility=9", "DeadVisibility=14",
	"Variables=STAGE=trial,GREETING=hello", "Tracing=Active", "AccessLog=true", "WarmWrites=5000", "ApiConcurrency=20",
	"AllowWorkers=loopback", "WorkerTTL=60"}

// deployment is a module of somebody else's, deployed with this project's template.
type deployment struct {
	folder  string // of the module, a copy of testdata/theirs
	flags   string // of go build
	address string
	client  *client.Client
	sqs     *awssqs.Client
	tables  *dynamodb.Client
	store   *dynamo.Store
	queues  map[string]string // URLs by their names in the template
	table   string
	proxy   *proxy // nil where functions run in containers, which do not reach it
}

// state is where localstack/up keeps what it writes.
func state() string {
	if folder := os.Getenv("REPRISE_LOCALSTACK_DIR"); folder != "" {
		return folder
	}
	return filepath.Join(root, ".localstack")
}

// logFile is LocalStack's own log, where it is a process of this machine.
func logFile() string { return filepath.Join(state(), "localstack.log") }

// endpoint of LocalStack.
func endpoint() string {
	port := os.Getenv("REPRISE_LOCALSTACK_PORT")
	if port == "" {
		port = "4566"
	}
	return "http://127.0.0.1:" + port
}

// run runs a script of localstack/, and gives the last line of what it prints.
func run(ctx context.Context, script string, environment []string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(root, "localstack", script), args...)
	command.Dir = root
	command.Env = append(os.Environ(), environment...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("localstack/%s: %w\n%s", script, err, out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1], nil
}

// newDeployment copies the module, as its author would have written it, and deploys it.
func newDeployment(ctx context.Context, folder string) (*deployment, error) {
	d := &deployment{folder: folder}
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "theirs"))); err != nil {
		return nil, err
	}
	for _, file := range []string{"template.yaml", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
			return nil, err
		}
	}
	if err := d.placeProxy(ctx); err != nil {
		return nil, err
	}
	edit := exec.CommandContext(ctx, "go", "mod", "edit", "-replace", "github.com/reprise-run/reprise="+root)
	edit.Dir = folder
	if out, err := edit.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go mod edit: %w\n%s", err, out)
	}
	if err := d.deploy(ctx); err != nil {
		return nil, err
	}
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// placeProxy has functions that are processes of this machine find LocalStack behind a proxy: their own variables come last.
func (d *deployment) placeProxy(ctx context.Context) (err error) {
	if _, err := os.Stat(logFile()); os.IsNotExist(err) {
		return nil // LocalStack runs in Docker, and so do they
	}
	if d.proxy, err = newProxy(ctx); err != nil {
		return err
	}
	const variables = "      Variables:\n        REPRISE_TABLE:"
	replaced, err := d.replace("template.yaml", variables, strings.Replace(variables, "\n", "\n        AWS_ENDPOINT_URL: "+d.proxy.address+"\n", 1))
	if err == nil && !replaced {
		err = errors.New("template.yaml does not have the variables of all functions where they are expected")
	}
	return err
}

// close ends what the deployment has in this process.
func (d *deployment) close() error {
	if d.proxy == nil {
		return nil
	}
	return d.proxy.close()
}

// deploy builds and deploys what the module is by now.
func (d *deployment) deploy(ctx context.Context) (err error) {
	environment := []string{"STACK=" + stack, "TEMPLATE=" + filepath.Join(d.folder, "template.yaml"), "GOFLAGS=-mod=mod " + d.flags}
	d.address, err = run(ctx, "deploy", environment, parameters...)
	return err
}

// connect finds the parts of the deployment that are reached other than through the API.
func (d *deployment) connect(ctx context.Context) error {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-east-1"), config.WithBaseEndpoint(endpoint()),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
	if err != nil {
		return err
	}
	d.sqs, d.tables = awssqs.NewFromConfig(loaded), dynamodb.NewFromConfig(loaded)
	if d.client, err = client.New(client.Config{Address: d.address}); err != nil {
		return err
	}
	queues, err := d.sqs.ListQueues(ctx, &awssqs.ListQueuesInput{QueueNamePrefix: aws.String(stack + "-")})
	if err != nil {
		return err
	}
	d.queues = map[string]string{}
	for _, url := range queues.QueueUrls {
		if name := strings.Split(url[strings.LastIndex(url, "/")+1:], "-"); len(name) > 1 {
			d.queues[name[1]] = url
		}
	}
	tables, err := d.tables.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		return err
	}
	for _, name := range tables.TableNames {
		if strings.HasPrefix(name, stack+"-") {
			d.table = name
		}
	}
	if len(d.queues) != 5 || d.table == "" {
		return fmt.Errorf("the deployment lacks a queue or its table: %v, %v", queues.QueueUrls, tables.TableNames)
	}
	payloads := awss3.NewFromConfig(loaded, func(o *awss3.Options) { o.UsePathStyle = true })
	buckets, err := payloads.ListBuckets(ctx, &awss3.ListBucketsInput{Prefix: aws.String(stack + "-payloads-")})
	if err != nil {
		return err
	}
	if len(buckets.Buckets) != 1 {
		return fmt.Errorf("the deployment has %d buckets", len(buckets.Buckets))
	}
	places := s3.New(s3.Config{Client: payloads, Bucket: *buckets.Buckets[0].Name})
	d.store = dynamo.New(dynamo.Config{Client: d.tables, Table: d.table, Codec: offload.Codec{Places: places}})
	return nil
}

// rewrite changes a file of the module.
func (d *deployment) rewrite(t *testing.T, file, old, replacement string) {
	t.Helper()
	replaced, err := d.replace(file, old, replacement)
	require.NoError(t, err)
	require.True(t, replaced)
}

func (d *deployment) replace(file, old, replacement string) (replaced bool, err error) {
	file = filepath.Join(d.folder, file)
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	return bytes.Contains(text, []byte(old)), os.WriteFile(file, bytes.Replace(text, []byte(old), []byte(replacement), 1), 0o600)
}

// pids are the processes in which functions of this stack run.
func pids(function string) (found []int) {
	_ = filepath.WalkDir(filepath.Join(state(), "pids"), func(path string, _ fs.DirEntry, _ error) error {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), stack+"-"+function+"-%d", &pid); err == nil {
			found = append(found, pid)
		}
		return nil
	})
	return found
}
