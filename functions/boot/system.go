package boot

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/kms"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/s3"
	"github.com/reprise-run/reprise/infra/aws/sqs"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/system"
)

// Store keeps runs: the table, in Lambda.
type Store interface {
	port.Runs
	port.Directory
	port.Due
	port.Tasks
	port.Catalog
	port.Workers
	// DeleteClosed deletes runs that ended before a time, so many at most, and says how many.
	DeleteClosed(ctx context.Context, before time.Time, limit int) (deleted int, err error)
}

// Parts are what a system is made of. In Lambda they are made from the function's environment.
type Parts struct {
	Store Store
	Queue *sqs.Queue
	// Resumes and Tasks are the URLs of the queues that messages are received from.
	Resumes, Tasks string
	Definitions    []workflow.Definition
	// Interpreters of published definitions, by kind, where workflow code runs (activate) or is
	// published (api). None: the function has no use for the catalog.
	Interpreters map[string]engine.Interpreter
	// Performers of activities, by prefix, where activities are performed (task, activate).
	Performers map[string]engine.Performer
	// AllowWorkers is the list of targets that workers may be called at. Nil: none.
	AllowWorkers *httpexec.Allow
	// WorkerTTL is how long a worker is online after its last heartbeat. Zero: [port.WorkerTTL].
	WorkerTTL time.Duration
	// Version of the deployment: see [engine.Config]. "" if nothing names it.
	Version string
	// Deployed gives the version that functions/activate has noted, where Version is "" (timer).
	Deployed func(context.Context) (port.Deployment, error)
	// CheckTable says whether the table holds what this deployment would not find (timer). Nil: it does not.
	CheckTable func(context.Context) error
	// Worker names this process in the history of attempts.
	Worker string
	Logger *slog.Logger
	// TokenKey signs completion tokens, where they are made (task) or taken (api).
	TokenKey []byte
	// Retention is how long ended runs are kept (timer), and the logs of generations of runs that go on. It must be more than the
	// 14 days that a message is kept: what a message files in a run that is there no more, nobody deletes.
	Retention time.Duration
	// Seal is what Store and Queue seal values with, so that an export leaves as they are stored. Nil: they are not sealed.
	Seal seal.Codec
	// Access is how callers of functions/api authenticate. Its OpenAPI document says so.
	Access api.Access
	// Memory is the budget of bytes that live runs, bodies of requests and answers share. Nil: live
	// runs are bounded by their number alone.
	Memory *memory.Budget
	// Metrics takes what CloudWatch is to make metrics of, and Stack is the dimension by which the template's alarm finds them.
	Metrics io.Writer
	Stack   string
}

// System is the engine over the services of AWS, with the handlers of all functions. It is safe for concurrent use.
type System struct {
	Parts
	Engine *engine.Engine
}

// New makes a system. It asks nobody anything.
func New(parts Parts) (*System, error) {
	// how often somebody who waits for a run is served another look at it
	const poll = 300 * time.Millisecond
	ports := port.Ports{Runs: parts.Store, Directory: parts.Store, Due: parts.Store,
		Tasks: parts.Store, Workers: parts.Store, Catalog: parts.Store, Queue: parts.Queue,
		Clock: system.Clock{}, Authors: system.Invocations{NewID: newAuthor}, NewID: system.NewID}
	if parts.AllowWorkers == nil {
		parts.AllowWorkers = &httpexec.Allow{}
	}
	e, err := engine.New(ports,
		engine.Config{Definitions: parts.Definitions, Interpreters: parts.Interpreters,
			Version:     parts.Version,
			Worker:      parts.Worker,
			Logger:      parts.Logger,
			TokenKey:    parts.TokenKey,
			Retention:   parts.Retention,
			Memory:      parts.Memory,
			Poll:        poll,
			Performers:  parts.Performers,
			AllowWorker: parts.AllowWorkers.Check,
			WorkerTTL:   parts.WorkerTTL})
	return &System{parts, e}, err
}

// newAuthor names an invocation by 80 random bits, which its records repeat.
func newAuthor() string {
	const length = 16
	return system.NewID()[:length]
}

// open makes the system that the environment names.
func open(ctx context.Context, getenv func(string) string, logger *slog.Logger, definitions []workflow.Definition,
	first ...preparation) (*System, error) {
	env, err := readEnvironment(getenv)
	if err != nil {
		return nil, err
	}
	config, err := aws.Load(ctx)
	if err != nil {
		return nil, err
	}
	codec := offload.Codec{Places: s3.New(s3.Config{Bucket: env.bucket, Client: awss3.NewFromConfig(config, func(o *awss3.Options) {
		o.UsePathStyle = config.BaseEndpoint != nil // an endpoint of one's own, as LocalStack's, has no host for each bucket
	})})}
	if env.kmsKey != "" {
		bare := dynamo.New(dynamo.Config{Client: dynamo.NewClient(config), Table: env.table}) // data keys are not sealed by themselves
		codec.Seal = seal.New(kms.New(kms.Config{Client: awskms.NewFromConfig(config), Key: env.kmsKey, Table: env.table, Wrapped: bare}))
	}
	store := dynamo.New(dynamo.Config{Client: dynamo.NewClient(config), Table: env.table, Codec: codec, Shards: env.shards})
	parts := Parts{
		Store: store,
		Queue: sqs.New(sqs.Config{Client: awssqs.NewFromConfig(config), Resumes: env.resumes, Tasks: env.tasks,
			Dead: env.dead, Codec: store.Codec()}),
		Resumes: env.resumes, Tasks: env.tasks, Definitions: definitions, Version: env.version, Worker: env.worker, Logger: logger,
		Metrics: os.Stdout, Stack: env.stack, Memory: env.useMemory(), Retention: env.retention, Seal: codec.Seal,
		Access: env.access, AllowWorkers: env.workers, WorkerTTL: env.workerTTL,
	}
	for _, prepare := range first {
		if err := prepare(ctx, store, &parts); err != nil {
			return nil, err
		}
	}
	return New(parts)
}
