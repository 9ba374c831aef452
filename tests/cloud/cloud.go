// Package cloud is the deployed system in one process: the real handlers and adapters over DynamoDB Local, with queues in
// memory that behave like SQS's and like the event sources of Lambda. It is for measuring what a run costs, and for volume;
// what only the deployed system can show is shown on LocalStack.
package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/functions/boot"
	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
	"github.com/reprise-run/reprise/infra/aws/sqs"
)

// URLs of the queues.
const (
	resumes = "resumes"
	tasks   = "tasks"
	dead    = "dead"
)

// concurrency is how many batches of resumes are handled at one time.
const concurrency = 16

// Cloud is a system that is up.
type Cloud struct {
	*boot.System
	// Meter counts what it uses.
	Meter   *aws.Meter
	queues  *queues
	service *service
	// unmetered is the same table, for those who only look.
	unmetered *dynamo.Store
	cancel    context.CancelFunc
}

// Open makes a table and lets messages flow, as template.yaml has them flow by default. Requests to the table and the queues go
// by a transport of the caller's; nil: the usual one.
func (d *Database) Open(ctx context.Context, transport http.RoundTripper, definitions ...workflow.Definition) (*Cloud, error) {
	table, err := d.Table(ctx)
	if err != nil {
		return nil, err
	}
	return d.OpenTable(ctx, table, transport, definitions...)
}

// OpenTable is Open on a table that is there: functions that know nothing yet of what is in it.
func (d *Database) OpenTable(ctx context.Context, table string, transport http.RoundTripper, definitions ...workflow.Definition) (*Cloud, error) {
	plain, err := d.Client(ctx, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &Cloud{Meter: &aws.Meter{}, queues: newQueues(ctx), cancel: cancel}
	if c.service, err = serve(ctx, c.queues); err != nil {
		cancel()
		return nil, err
	}
	codec := offload.Codec{Places: offloadtest.New()}
	c.unmetered = dynamo.New(dynamo.Config{Client: plain, Table: table, Codec: codec})
	if c.System, err = d.system(ctx, c, table, transport, codec, definitions); err != nil {
		cancel()
		c.service.close()
		return nil, fmt.Errorf("the system did not open: %w", err)
	}
	const (
		timeout    = time.Minute
		visibility = 6 * timeout
		receives   = 5
	)
	c.queues.add(resumes, source{handler: c.HandleResumes, batch: 10, atOnce: concurrency, timeout: timeout, visibility: visibility, receives: receives, dead: dead})
	c.queues.add(tasks, source{handler: c.HandleTasks, batch: 1, atOnce: 64, timeout: timeout, visibility: visibility, receives: receives, dead: dead})
	c.queues.add(dead, source{handler: c.HandleDead, batch: 10, atOnce: 1, timeout: timeout, visibility: visibility, receives: receives})
	return c, nil
}

// system makes what all functions share.
func (d *Database) system(ctx context.Context, c *Cloud, table string, transport http.RoundTripper, codec offload.Codec,
	definitions []workflow.Definition) (*boot.System, error) {
	key, err := c.unmetered.TokenKey(ctx)
	if err != nil {
		return nil, err
	}
	toTable, err := d.Client(ctx, transport)
	if err != nil {
		return nil, err
	}
	toQueues, err := load(ctx, c.service.url, transport)
	if err != nil {
		return nil, err
	}
	store := dynamo.New(dynamo.Config{Client: toTable, Table: table, Codec: codec, Meter: c.Meter})
	return boot.New(boot.Parts{
		TokenKey: key,
		Store:    store,
		Queue: sqs.New(sqs.Config{Client: awssqs.NewFromConfig(toQueues), Resumes: resumes, Tasks: tasks,
			Codec: store.Codec(), Meter: c.Meter}),
		Resumes: resumes, Tasks: tasks, Definitions: definitions, Version: "1", Worker: "cloud", Logger: slog.New(slog.DiscardHandler),
	})
}

// Close waits for what is under way.
func (c *Cloud) Close() {
	c.cancel()
	c.queues.busy.Wait()
	c.service.close()
	c.Engine.Close()
}

// Usage of the two queues so far. A receive is one invocation of the function.
func (c *Cloud) Usage() (ofResumes, ofTasks QueueUsage) {
	c.queues.mu.Lock()
	defer c.queues.mu.Unlock()
	return c.queues.queues[resumes].usage, c.queues.queues[tasks].usage
}

// Ended waits until a run has ended, looking seldom and without being counted. One that is blocked is an error.
func (c *Cloud) Ended(ctx context.Context, run string) error {
	summary, err := c.stopped(ctx, run)
	if err == nil && !summary.Status.Closed() {
		return fmt.Errorf("run %s is blocked: %s", run, summary.Blocked.Message)
	}
	return err
}

// stopped waits until a run has ended or is blocked.
func (c *Cloud) stopped(ctx context.Context, run string) (*port.Summary, error) {
	for {
		summary, err := c.unmetered.Summary(ctx, run)
		if err != nil || summary.Status.Closed() || summary.Blocked != nil {
			return summary, err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// Quiet waits until no message is visible or being handled.
func (c *Cloud) Quiet(ctx context.Context) error {
	for !c.queues.quiet() {
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
