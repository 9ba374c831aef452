package api

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// endpoint declares one operation: requests are read by it, and the document is made from it.
type endpoint struct {
	method, path      string
	id, tag           string
	summary, describe string
	params            []*huma.Param
	// body is a value of the body's type; nil: there is none. It may be left out where no field is required.
	body any
	// answers by status.
	answers map[int]reply
	// fails lists the codes that its problems may have, beside those that every endpoint's may.
	fails []port.Code
	// open: it is for everybody, also where a server asks who somebody is.
	open bool
	// completes: an activity's completion token, which is in the path, is enough.
	completes bool
	// role that a caller needs, where tokens have roles. Empty: see needs.
	role  Role
	serve func(*call) error
}

// reply describes a successful answer.
type reply struct {
	when   string
	body   any    // a value of its type; nil: it has none
	header string // that it may have; empty: none
}

// headers of answers, as the document describes them.
var headers = map[string]string{
	wire.HintHeader: "What may be wrong, though the start was accepted: the workflow is not " +
		"registered here.",
	wire.NextHeader: "What to give as after for the next piece; missing with the last one.",
}

// call is one request on its way.
type call struct {
	*Handler
	endpoint *endpoint
	shapes   shapes
	w        http.ResponseWriter
	r        *http.Request
	queried  map[string][]string
	claimed  int64 // bytes of the memory that requests share
}

// add registers an endpoint, and puts it into the document.
func (h *Handler) add(e endpoint) error {
	operation := &huma.Operation{Method: e.method, Path: e.path, OperationID: e.id, Summary: e.summary, Description: e.describe,
		Tags: []string{e.tag}, Parameters: e.params, Responses: map[string]*huma.Response{}}
	shapes := shapes{}
	if e.body != nil {
		t := reflect.TypeOf(e.body)
		body, err := shapes.newShape(t)
		if err != nil {
			return err
		}
		operation.RequestBody = &huma.RequestBody{Required: len(body.required) > 0, Content: map[string]*huma.MediaType{
			"application/json": {Schema: h.registry.Schema(t, true, "")}}}
	}
	for status, r := range e.answers {
		operation.Responses[strconv.Itoa(status)] = h.describe(r)
	}
	h.describeProblems(operation, e)
	if e.open {
		h.open[e.path] = true
		operation.Security = []map[string][]string{{}}
	}
	if e.completes {
		h.completions[e.method+" "+e.path] = true
		operation.Security = []map[string][]string{{}}
	}
	h.openapi.AddOperation(operation)
	h.adapter.Handle(operation, func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		c := &call{Handler: h, endpoint: &e, shapes: shapes, w: w, r: r}
		defer c.release()
		if err := c.perform(); err != nil {
			h.fail(w, r, err)
		}
	})
	return nil
}

func (c *call) perform() error {
	if err := c.authorize(); err != nil {
		return err
	}
	if err := c.readQuery(); err != nil {
		return err
	}
	return c.endpoint.serve(c)
}

func (h *Handler) describe(r reply) *huma.Response {
	response := &huma.Response{Description: r.when}
	switch r.body.(type) {
	case nil:
	case database:
		response.Content = map[string]*huma.MediaType{"application/vnd.sqlite3": {}}
	case exported:
		response.Content = map[string]*huma.MediaType{"application/json": {Schema: h.registry.Schema(reflect.TypeFor[exported](), true, "")}}
	default:
		response.Content = map[string]*huma.MediaType{"application/json": {Schema: h.registry.Schema(reflect.TypeOf(r.body), true, "")}}
	}
	if r.header != "" {
		response.Headers = map[string]*huma.Param{r.header: {Schema: text(), Description: headers[r.header]}}
	}
	return response
}

// describeProblems lists, for each status, the codes that it stands for.
func (h *Handler) describeProblems(operation *huma.Operation, e endpoint) {
	codes := append([]port.Code{port.Invalid, port.Unavailable, port.Internal, port.TooLarge,
		client.Forbidden}, e.fails...)
	if !e.open {
		codes = append(codes, client.Unauthenticated)
	}
	byStatus := map[int][]string{}
	for _, code := range codes {
		status, title := statusOf(code)
		text := string(code) + ": " + title
		if !slices.Contains(byStatus[status], text) {
			byStatus[status] = append(byStatus[status], text)
		}
	}
	schema := h.registry.Schema(reflect.TypeFor[client.Problem](), true, "")
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		response := &huma.Response{Description: strings.Join(byStatus[status], "; "),
			Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schema}}}
		switch status {
		case http.StatusServiceUnavailable:
			response.Headers = map[string]*huma.Param{"Retry-After": {Description: "When to try again, in seconds.", Schema: &huma.Schema{Type: huma.TypeInteger}}}
		case http.StatusUnauthorized:
			response.Headers = map[string]*huma.Param{"WWW-Authenticate": {Description: "How to say who you are (RFC 6750).", Schema: text()}}
		}
		operation.Responses[strconv.Itoa(status)] = response
	}
}
