// Package api is the door: the engine over HTTP.
//
// A request is read strictly (an unknown field or parameter is refused, and the answer says which are known), the engine is
// asked, and what it says is written as JSON; its errors become problems (RFC 9457) with a stable code. Values of the
// author's pass through as the JSON text that they are. The OpenAPI document is made from the same declarations that
// requests are read by: see [endpoint].
//
// It knows no storage and no queue, and decides nothing about runs: that is core/engine's.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// Config of a handler.
type Config struct {
	Engine *engine.Engine
	// Version of the server, for people.
	Version string
	// Uptime says how long the server has been up. Nil: nothing stays up here.
	Uptime func() time.Duration
	// Backlog says how many messages could be handled now, how many wait for their time, and how many
	// are being handled. Nil: they are not counted.
	Backlog func() (ready, delayed, inFlight int)
	// Healthy says why the server cannot do its work. Nil: it can, as long as it answers.
	Healthy func(context.Context) error
	// LongestWait is where a caller's wait is cut short: it is answered with how things stand, and may ask again. Zero: a
	// minute. Gateways cut off what takes longer than theirs.
	LongestWait time.Duration
	// LongestAnswer is how many bytes an answer's body may have, for gateways that give no more; what is longer becomes a
	// problem, a listing gives fewer runs at once, and logs come in pieces anyway. Zero: there is no limit.
	LongestAnswer int
	// Rebuild allows to have the queues rebuilt (PROTOCOL.md rule 10) while the server is up. False: its queues live and die with
	// it, and it has rebuilt them at its start.
	Rebuild bool
	// Queues says how the queues are, for a diagnosis. Nil: what Backlog says.
	Queues func(context.Context) (wire.Queues, error)
	// Backup copies the database, to a file that is the caller's to close. Nil: there is no
	// database file.
	Backup func(context.Context) (*os.File, error)
	// Tokens that let callers in: a request without one of them is refused, but for the server's health. None: nobody is asked.
	Tokens []Token
	Limits Limits
	// Access is what the OpenAPI document says of how to call the API.
	Access Access
	// Memory is the budget of bytes that bodies of requests and answers share with live runs
	// ([engine.Config.Memory]); those of up to 64 KB are not counted. What finds no room is refused
	// with the code unavailable. Nil: one of 512 MB, for them alone.
	Memory *memory.Budget
	// Folder is where long values lie, encrypted, while callers read them: on a disk, since memory is
	// what they are to spare. Empty: the system's folder for temporary files.
	Folder string
	// Seal is what the engine's store seals values with: an export that is to leave sealed is sealed with it, as it is stored. Nil: such an
	// export leaves as it is. All other answers give values in the clear: whoever may ask has the right to them.
	Seal seal.Codec
	// Logger for faults of ours. Nil: none.
	Logger *slog.Logger
	// Seed004 serves the routes of seed 004, at the root and under /api: see seed004.go.
	Seed004 bool
}

// Handler answers requests. It is safe for concurrent use.
type Handler struct {
	config   Config
	engine   *engine.Engine
	mux      *http.ServeMux
	registry huma.Registry
	openapi  *huma.OpenAPI
	adapter  huma.Adapter
	rooms    rooms
	copies   *copies
	// open are the paths that are for everybody.
	open map[string]bool
	// plain are paths: their clients read errors as {"error": "…"}.
	plain map[string]bool
	// completions are the patterns of the operations that an activity's completion token is enough for.
	completions map[string]bool
	// workflows that are registered, for hints; nil where none are.
	workflows map[string]bool
	// waits is cancelled when nobody is to wait any more.
	waits    context.Context //nolint:containedctx // it is not a request's, but ends the waits of all
	endWaits context.CancelFunc
}

// New makes a handler. The error is a fault in its own declarations.
func New(config Config) (*Handler, error) {
	h := &Handler{config: config.withDefaults(), engine: config.Engine, mux: http.NewServeMux(), workflows: map[string]bool{}, open: map[string]bool{}, completions: map[string]bool{}}
	h.rooms.limit(h.config.Limits)
	h.copies = newCopies(h.config.Folder)
	for _, name := range h.engine.Workflows() {
		h.workflows[name] = true
	}
	h.waits, h.endWaits = context.WithCancel(context.Background())
	h.registry = newRegistry()
	h.openapi = newDocument(h.registry)
	h.config.Access.declare(h.openapi)
	h.adapter = humago.NewAdapter(h.mux, "")
	for _, group := range groups() {
		h.openapi.Tags = append(h.openapi.Tags,
			&huma.Tag{Name: group.tag, Description: group.describe})
		for _, e := range group.endpoints {
			e.tag = group.tag
			if err := h.add(e); err != nil {
				return nil, fmt.Errorf("endpoint %s: %w", e.id, err)
			}
		}
	}
	h.addDocuments()
	if config.Seed004 {
		h.addSeed004()
	}
	h.mux.HandleFunc("/", h.nothingHere)
	return h, nil
}

func (c Config) withDefaults() Config {
	if c.LongestWait == 0 {
		c.LongestWait = time.Minute
	}
	c.Limits = c.Limits.withDefaults()
	if c.Memory == nil {
		c.Memory = memory.New(512 << 20)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := h.authenticate(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	r = authorized(r, token)
	if !h.open[r.URL.Path] { // so that a busy server can say that it is well
		if !h.rooms.requests.take(1) {
			h.fail(w, r, busy("%d requests are worked on at this moment, and there are no more at a time: try again", h.rooms.requests.most))
			return
		}
		defer h.rooms.requests.give(1)
	}
	h.mux.ServeHTTP(w, r)
}

// EndWaits has everybody who waits be answered with how things stand, now and from now on: the server is about to stop.
func (h *Handler) EndWaits() { h.endWaits() }
