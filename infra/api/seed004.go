package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/reprise-run/reprise/core/port"
)

// seedRoute is one of the routes of seed 004, an earlier system for flows. Its clients and workers
// run unchanged. They read bodies alone, and ignore statuses: errors are {"error": "…"}. Keys of
// requests match without regard to case, and unknown ones are ignored.
type seedRoute struct {
	method, path string
	role         Role
	serve        func(*call) error
}

// seedPrefixes are where its clients expect the routes.
var seedPrefixes = []string{"", "/api"}

func seedRoutes() []seedRoute {
	return []seedRoute{
		{http.MethodPost, "/flows", All, seedCreateFlow},
		{http.MethodPost, "/flows/version", All, seedPublish},
		{http.MethodPost, "/tasks", Operate, seedStartTask},
		{http.MethodGet, "/tasks", Read, seedListTasks},
		{http.MethodGet, "/tasks/get", Read, seedGetTask},
		{http.MethodGet, "/tasks/runs", Read, seedNodeRuns},
		{http.MethodPost, "/tasks/signal", Operate, seedSignal},
		{http.MethodPost, "/tasks/cancel", Operate, seedCancel},
		{http.MethodPost, "/tasks/run_once", Operate, seedRunOnce},
		{http.MethodPost, "/register", Worker, seedRegister},
		{http.MethodPost, "/heartbeat", Worker, seedHeartbeat},
		{http.MethodGet, "/list", Read, seedListWorkers},
		{http.MethodGet, "/allocate", Read, seedAllocate},
		{http.MethodPost, "/workers/register", Worker, seedRegister},
		{http.MethodPost, "/workers/heartbeat", Worker, seedHeartbeat},
		{http.MethodGet, "/workers/list", Read, seedListWorkers},
		{http.MethodGet, "/workers/allocate", Read, seedAllocate},
	}
}

// addSeed004 serves the routes beside those of /v1. The OpenAPI document
// does not contain them.
func (h *Handler) addSeed004() {
	h.plain = map[string]bool{}
	for _, route := range seedRoutes() {
		e := &endpoint{method: route.method, path: route.path, role: route.role, serve: route.serve}
		for _, prefix := range seedPrefixes {
			path := prefix + route.path
			h.mux.HandleFunc(route.method+" "+path, func(w http.ResponseWriter, r *http.Request) {
				h.serveSeed(w, r, e)
			})
			if !h.plain[path] {
				h.plain[path] = true
				h.mux.HandleFunc(path, wrongMethod)
			}
		}
	}
}

func wrongMethod(w http.ResponseWriter, _ *http.Request) {
	failPlain(w, http.StatusMethodNotAllowed, "method")
}

func (h *Handler) serveSeed(w http.ResponseWriter, r *http.Request, e *endpoint) {
	c := &call{Handler: h, endpoint: e, w: w, r: r, queried: r.URL.Query()}
	defer c.release()
	err := c.authorize()
	if err == nil {
		err = e.serve(c)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// failPlain answers with an error as the clients of seed 004 read it.
func failPlain(w http.ResponseWriter, status int, message string) {
	respond(w, status, "application/json", map[string]string{"error": message})
}

// readSeed reads a body into a struct.
func (c *call) readSeed(into any) error {
	text, err := c.readAll()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return invalid(fmt.Sprintf(
				"the field %q must not be a JSON %s", wrong.Field, wrong.Value))
		}
		return invalid(fmt.Sprintf("the body is not JSON: %v", err))
	}
	return nil
}

// answerSeed answers with an object, or an array.
func (c *call) answerSeed(body any) error {
	e := encode(body)
	defer e.free()
	if e.err != nil {
		return e.err
	}
	if err := c.checkLength(e.text.Len()); err != nil {
		return err
	}
	if err := c.holdAnswer(e.text.Len()); err != nil {
		return err
	}
	e.write(c.w, http.StatusOK, "application/json")
	return nil
}

// answerDone answers a request that asks for no data.
func (c *call) answerDone() error { return c.answerSeed(map[string]string{"ok": "1"}) }

// missing is the error of a request that lacks what it must have.
func missing(what string) error { return invalid(what + " is missing") }

// failed500 is an error with the status that clients of seed 004 know.
func failed500(code port.Code, message string) error {
	return &problemError{http.StatusInternalServerError, code, message}
}
