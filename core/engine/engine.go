// Package engine runs workflows over ports: it is what the Lambda functions and the embedded server have in common. It
// carries out PROTOCOL.md, beside this file, rule by rule; the code names the rules.
//
// Follow one activity through it: start.go files a start; activate.go receives the resume, look.go reads the run, decide.go
// says what its inbox means, commit.go puts the record, send.go sends what it asks for, step.go or task.go performs the
// activity, and its result lands in the inbox again.
package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// Config of an engine.
type Config struct {
	// Definitions that it can run. Of signals, it knows the types.
	Definitions []workflow.Definition
	// Interpreters make workflows of the sources of published definitions, by kind.
	Interpreters map[string]Interpreter
	// Performers perform activities that are not registered, by the prefix of their names: that
	// named "http" performs all whose names begin with "http:".
	Performers map[string]Performer
	// AllowWorker says why the system must not call a worker's URL. Nil: it calls none.
	AllowWorker func(ctx context.Context, url string) error
	// WorkerTTL is how long a worker is online after its last heartbeat. Zero: [port.WorkerTTL].
	WorkerTTL time.Duration
	// Version of the deployment: a run that is blocked under another one is tried again.
	Version string
	// Worker names this process in the history of attempts.
	Worker string
	// StuckAfter is how long a unit may keep its turn, give or take a tenth, of the time in which the process runs. Zero: 5 s.
	// Negative: for ever (in a debugger).
	StuckAfter time.Duration
	// LiveRuns is how many runs are kept in memory between activations, to spare their replay. Zero: 1,000. Of the others, 16
	// at a time are replayed from their logs for messages, and 16 for queries, however many are due: the rest wait.
	LiveRuns int
	// Memory is the budget of bytes that live runs share with others, beside that number. Idle runs
	// are evicted when anything else needs the room, and a run is replayed when there is room for
	// it. What a run holds is an estimate. Nil: no limit.
	Memory *memory.Budget
	// KnownMail is how many names of messages (id, kind, name) a generation hands on to the next
	// one: the newest that the run has taken. A sender who
	// repeats one of them is not heard twice. What a queue delivers again is known without. Zero: 100.
	// Each is some 30 bytes of the record that begins a generation, and 70 of a run in memory.
	KnownMail int
	// CheckpointAfter is how many records of a log come from one checkpoint to the next, at least:
	// see [history.Checkpoint]. Zero: 64.
	CheckpointAfter int
	// Retention is how long the log of a generation is kept, at least, after the next one has begun, and two times longer at most
	// where generations follow on each other. It must be more than an invocation lives and a message is kept: what comes later
	// is not known. Zero: as long as the run. Resets reach no further back.
	Retention time.Duration
	// Poll is how often a caller that waits looks again on its own. Zero: 500 ms.
	Poll time.Duration
	// Logger for what operators should see. Nil: none.
	Logger *slog.Logger
	// TokenKey signs completion tokens: 32 random bytes that outlive the process.
	TokenKey []byte
	// ReplayEach replays the whole log of a run after each of its activations, before the record is put: nondeterminism shows at
	// once. It costs time that grows with the square of a log's length. For development.
	ReplayEach bool
	// DataFolder is where the process keeps its data, for activities: see activity.Info. Empty: it keeps none in files.
	DataFolder string
}

// Engine is safe for concurrent use.
type Engine struct {
	port.Ports
	config   Config
	registry *registry.Registry
	live     *cache
	looks    pendingLooks
	// Where runs are replayed for messages, and for those who ask: they do not stand behind thousands of messages.
	replays, questions *places

	watch      *watch
	attempts   attempts
	goroutines *goroutines
	watchdog   watchdog
	fitting    fitting
	resent     resent
	codes      *codes
}

// New makes an engine. The error lists every definition that cannot be registered.
func New(ports port.Ports, config Config) (*Engine, error) {
	known, err := register(config.Definitions)
	if err != nil {
		return nil, err
	}
	config = config.withDefaults()
	return &Engine{
		Ports: ports, config: config, registry: known,
		codes:   newCodes(config.Memory), // before the runs: code that no run has is evicted first
		live:    newCache(config.LiveRuns, config.Memory),
		replays: newPlaces(config.Memory, true), questions: newPlaces(config.Memory, false),
		watch: newWatch(), goroutines: newGoroutines(),
	}, nil
}

func register(definitions []workflow.Definition) (*registry.Registry, error) {
	all := make([]registry.Definition, len(definitions))
	for i, definition := range definitions {
		all[i] = definition
	}
	return registry.New(all...)
}

func (c Config) withDefaults() Config {
	if c.StuckAfter == 0 {
		c.StuckAfter = 5 * time.Second
	}
	if c.LiveRuns == 0 {
		c.LiveRuns = 1000
	}
	if c.WorkerTTL == 0 {
		c.WorkerTTL = port.WorkerTTL
	}
	if c.KnownMail == 0 {
		c.KnownMail = 100
	}
	if c.CheckpointAfter == 0 {
		c.CheckpointAfter = port.CheckpointAfter
	}
	if c.Poll == 0 {
		c.Poll = 500 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Close ends all live runs. Nothing may be under way.
func (e *Engine) Close() {
	e.live.close()
	e.goroutines.close()
}

// EvictUnused evicts the live runs that were not used since the last call. Such a run waits, and is
// replayed from its log when it is resumed.
func (e *Engine) EvictUnused() { e.live.sweep() }

// LiveRuns is how many runs are in memory now.
func (e *Engine) LiveRuns() int { return e.live.size() }

// Workflows and Activities list what is registered.
func (e *Engine) Workflows() []string { return e.registry.Workflows() }

// Activities lists what is registered.
func (e *Engine) Activities() []string { return e.registry.Activities() }

func (e *Engine) warn(ctx context.Context, message string, args ...any) {
	e.config.Logger.WarnContext(ctx, message, args...)
}
