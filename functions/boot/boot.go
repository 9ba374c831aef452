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
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/redact"
)

// API serves the HTTP API behind API Gateway, REST (v1) or HTTP (v2). It does not return.
func API(definitions ...workflow.Definition) {
	start(definitions, (*System).apiHandler, tokens)
}

// Activate takes resumes from their queue. It does not return.
func Activate(definitions ...workflow.Definition) {
	start(definitions, func(s *System) (any, error) { return onlyMessages(s.HandleResumes), nil }, nil)
}

// Task takes tasks from their queue. It does not return.
func Task(definitions ...workflow.Definition) {
	start(definitions, func(s *System) (any, error) { return onlyMessages(s.HandleTasks), nil }, tokens)
}

// Timer is called by a schedule, each minute. It needs no code of workflows. It does not return.
func Timer() {
	start(nil, func(s *System) (any, error) { return onlyCalls(s.HandleSchedule), nil }, nil)
}

// DeadLetter takes what was received too often, from both dead letter queues. It needs no code of workflows. It does not
// return.
func DeadLetter() {
	start(nil, func(s *System) (any, error) { return onlyMessages(s.HandleDead), nil }, nil)
}

// stamped has log lines call their time as Lambda does: it filters by level only lines with a timestamp.
func stamped(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		attr.Key = "timestamp"
	}
	return attr
}

// tokens is for the functions that make completion tokens, or take them.
func tokens(ctx context.Context, store *dynamo.Store) ([]byte, error) { return store.TokenKey(ctx) }

// start opens the system and has Lambda call the handler. Where it cannot, Lambda shows the error as that of the function's
// initialisation.
func start(definitions []workflow.Definition, handler func(*System) (any, error), key keyed) {
	hides := redact.New(strings.Split(os.Getenv("REPRISE_REDACT"), ",")...)
	logger := slog.New(hides.Handler(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: stamped})))
	s, err := load(context.Background(), logger, definitions, key)
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
func load(ctx context.Context, logger *slog.Logger, definitions []workflow.Definition, key keyed) (*System, error) {
	if err := setVariables(os.Getenv("REPRISE_VARIABLES"), os.LookupEnv, os.Setenv); err != nil {
		return nil, err
	}
	return open(ctx, os.Getenv, logger, definitions, key)
}
