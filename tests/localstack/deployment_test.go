//go:build localstack

package localstack

import (
	"bytes"
	"context"
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
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
)

const (
	stack = "trials"
	// patience is how long anything may take here: LocalStack is slow, and two cores do all.
	patience = 3 * time.Minute
)

// parameters have everything happen sooner than where it matters what it costs.
var parameters = []string{"ActivateTimeout=10", "TaskTimeout=5", "ResumesVisibility=60", "TasksVisibility=30", "DeadVisibility=60", "Receives=3"}

// deployment is a module of somebody else's, deployed with this project's template.
type deployment struct {
	folder  string // of the module, a copy of testdata/theirs
	address string
	client  *client.Client
	sqs     *awssqs.Client
	dynamo  *dynamodb.Client
	resumes string // URLs of queues
	tasks   string
	table   string
}

// state is where localstack/up keeps what it writes.
func state() string {
	if folder := os.Getenv("REPRISE_LOCALSTACK_DIR"); folder != "" {
		return folder
	}
	return filepath.Join(root, ".localstack")
}

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

// deploy builds and deploys what the module is by now.
func (d *deployment) deploy(ctx context.Context) (err error) {
	d.address, err = run(ctx, "deploy", []string{"STACK=" + stack, "TEMPLATE=" + filepath.Join(d.folder, "template.yaml"), "GOFLAGS=-mod=mod"}, parameters...)
	return err
}

// connect finds the parts of the deployment that are reached other than through the API.
func (d *deployment) connect(ctx context.Context) error {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-east-1"), config.WithBaseEndpoint(endpoint()),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
	if err != nil {
		return err
	}
	d.sqs, d.dynamo = awssqs.NewFromConfig(loaded), dynamodb.NewFromConfig(loaded)
	if d.client, err = client.New(client.Config{Address: d.address}); err != nil {
		return err
	}
	queues, err := d.sqs.ListQueues(ctx, &awssqs.ListQueuesInput{QueueNamePrefix: aws.String(stack + "-")})
	if err != nil {
		return err
	}
	for _, url := range queues.QueueUrls {
		switch name := url[strings.LastIndex(url, "/")+1:]; {
		case strings.HasPrefix(name, stack+"-Resumes-"):
			d.resumes = url
		case strings.HasPrefix(name, stack+"-Tasks-"):
			d.tasks = url
		}
	}
	tables, err := d.dynamo.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		return err
	}
	for _, name := range tables.TableNames {
		if strings.HasPrefix(name, stack+"-") {
			d.table = name
		}
	}
	if d.resumes == "" || d.tasks == "" || d.table == "" {
		return fmt.Errorf("the deployment lacks a queue or its table: %v, %v", queues.QueueUrls, tables.TableNames)
	}
	return nil
}

// rewrite changes a file of the module.
func (d *deployment) rewrite(t *testing.T, file, old, replacement string) {
	t.Helper()
	file = filepath.Join(d.folder, file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte(old), []byte(replacement), 1), 0o600))
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
