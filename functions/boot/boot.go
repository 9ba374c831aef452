// Package boot is what the functions have in common, and what makes functions of a module's own workflows: each main is
//
//	func main() { boot.Activate(shipping.Definitions()...) }
//
// or one of its siblings: [API], [Task], [Timer], [DeadLetter]. They find tables and queues by the environment that
// template.yaml gives them.
//
// Handlers translate an event of AWS into a use-case of core/engine, and its outcome back. They decide nothing.
package boot

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/redact"
	"github.com/reprise-run/reprise/infra/system"
)

// API serves the HTTP API behind API Gateway, REST (v1) or HTTP (v2). It does not return.
func API(definitions ...workflow.Definition) {
	start(definitions, (*System).apiHandler, tokens, interprets)
}

// Activate takes resumes from their queue. It does not return.
func Activate(definitions ...workflow.Definition) {
	start(definitions, func(s *System) (any, error) { return onlyMessages(s.HandleResumes), nil }, notesVersion, interprets, callsWorkers)
}

// Task takes tasks from their queue. It does not return.
func Task(definitions ...workflow.Definition) {
	start(definitions, func(s *System) (any, error) { return onlyMessages(s.HandleTasks), nil }, tokens, callsWorkers)
}

// Timer is called by a schedule, each minute. It needs no code of workflows. It does not return.
func Timer() {
	start(nil, func(s *System) (any, error) { return onlyCalls(s.HandleSchedule), nil }, readsTable)
}

// DeadLetter takes what was received too often, from both dead letter queues. It needs no code of workflows. It does not
// return.
func DeadLetter() {
	start(nil, func(s *System) (any, error) { return onlyMessages(s.HandleDead), nil })
}

// stamped has log lines call their time as Lambda does: it filters by level only lines with a timestamp.
func stamped(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		attr.Key = "timestamp"
	}
	return attr
}

// preparation is what some functions do once, before their first event. Most do without: each start of
// theirs is a request faster.
type preparation func(ctx context.Context, store *dynamo.Store, parts *Parts) error

// tokens is for the functions that make completion tokens, or take them.
func tokens(ctx context.Context, store *dynamo.Store, parts *Parts) (err error) {
	if parts.TokenKey, err = store.TokenKey(ctx); err != nil {
		return fmt.Errorf("the key that signs completion tokens was not read: %w", err)
	}
	return nil
}

// notesVersion is for the function that runs workflow code. Where nothing else names that code, a hash of
// the executable does; functions/timer, another executable, learns it by the table.
func notesVersion(ctx context.Context, store *dynamo.Store, parts *Parts) error {
	if parts.Version != "" {
		return nil
	}
	version, err := system.Executable()
	if err == nil {
		err = store.Deploy(ctx, version)
	}
	if err != nil {
		return fmt.Errorf("the version of this deployment was not noted: %w", err)
	}
	parts.Version = version
	return nil
}

// interprets is for the functions that publish definitions, or run them.
func interprets(_ context.Context, _ *dynamo.Store, parts *Parts) error {
	parts.Interpreters = frontend.Interpreters()
	return nil
}

// callsWorkers is for the functions that perform activities.
func callsWorkers(_ context.Context, store *dynamo.Store, parts *Parts) error {
	const heartbeat = 5 * time.Second // a list can be so old without being out of date
	calls := httpexec.New(httpexec.Config{Workers: store, Clock: system.Clock{}, Allow: parts.AllowWorkers,
		TTL: parts.WorkerTTL, Remember: heartbeat, Memory: parts.Memory,
		Logger: parts.Logger})
	parts.Performers = calls.Performers()
	return nil
}

// readsTable is for the function that does the chores.
func readsTable(_ context.Context, store *dynamo.Store, parts *Parts) error {
	if parts.CheckTable = store.CheckShards; parts.Version == "" {
		parts.Deployed = store.Deployed
	}
	return nil
}

// start opens the system and has Lambda call the handler. Where it cannot, Lambda shows the error as that of the function's
// initialisation.
func start(definitions []workflow.Definition, handler func(*System) (any, error), first ...preparation) {
	hides := redact.New(strings.Split(os.Getenv("REPRISE_REDACT"), ",")...)
	logger := slog.New(hides.Handler(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: stamped})))
	s, err := load(context.Background(), logger, definitions, first...)
	if err == nil {
		var handle any
		if handle, err = handler(s); err == nil {
			lambda.Start(handle)
		}
	}
	logger.Error("the function cannot start", "error", err)
	os.Exit(1)
}

// load opens the system once the environment is complete.
func load(ctx context.Context, logger *slog.Logger, definitions []workflow.Definition, first ...preparation) (*System, error) {
	if err := setVariables(os.Getenv("REPRISE_VARIABLES"), os.LookupEnv, os.Setenv); err != nil {
		return nil, err
	}
	return open(ctx, os.Getenv, logger, definitions, first...)
}
