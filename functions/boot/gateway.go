package boot

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reprise-run/reprise/infra/api"
)

// gateway has an http.Handler answer what API Gateway sends, of a REST API (payload version 1) or an HTTP API (version 2).
type gateway struct{ handler http.Handler }

// Invoke answers one event. An event that is not an HTTP request is an error, so that its source
// keeps it.
func (g gateway) Invoke(ctx context.Context, payload json.RawMessage) (any, error) {
	var kind struct{ Version string }
	if err := json.Unmarshal(payload, &kind); err != nil {
		return nil, fmt.Errorf("decode an event of API Gateway: %w", err)
	}
	if kind.Version == "2.0" {
		var event events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, fmt.Errorf("decode an event of an HTTP API: %w", err)
		}
		if event.RequestContext.HTTP.Method == "" || event.RawPath == "" {
			return nil, errNotHTTP
		}
		return g.invoke2(ctx, event)
	}
	var event events.APIGatewayProxyRequest
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("decode an event of a REST API: %w", err)
	}
	if event.HTTPMethod == "" || event.Path == "" {
		return nil, errNotHTTP
	}
	return g.invoke1(ctx, event)
}

func (g gateway) invoke1(ctx context.Context, event events.APIGatewayProxyRequest) (*events.APIGatewayProxyResponse, error) {
	query := url.Values(event.MultiValueQueryStringParameters)
	if query == nil {
		query = url.Values{}
		for name, value := range event.QueryStringParameters {
			query.Set(name, value)
		}
	}
	header := http.Header{}
	for name, values := range event.MultiValueHeaders {
		header[http.CanonicalHeaderKey(name)] = values
	}
	for name, value := range event.Headers {
		if header.Get(name) == "" {
			header.Set(name, value)
		}
	}
	if stage, ok := strings.CutSuffix(event.RequestContext.Path, event.Path); ok {
		ctx = at(ctx, event.RequestContext.DomainName, stage)
	}
	ctx = by(ctx, event.RequestContext.Identity.UserArn)
	w, err := g.serve(ctx, incoming{event.HTTPMethod, event.Path, query.Encode(), header, event.Body, event.IsBase64Encoded})
	if err != nil {
		return nil, err
	}
	body, encoded := w.text()
	return &events.APIGatewayProxyResponse{StatusCode: w.status, MultiValueHeaders: w.header, Body: body, IsBase64Encoded: encoded}, nil
}

func (g gateway) invoke2(ctx context.Context, event events.APIGatewayV2HTTPRequest) (*events.APIGatewayV2HTTPResponse, error) {
	header := http.Header{}
	for name, value := range event.Headers {
		header.Set(name, value)
	}
	path, stage := event.RawPath, ""
	if name := "/" + event.RequestContext.Stage; strings.HasPrefix(path, name+"/") { // not the stage $default
		path, stage = strings.TrimPrefix(path, name), name
	}
	ctx = at(ctx, event.RequestContext.DomainName, stage)
	if who := event.RequestContext.Authorizer; who != nil && who.IAM != nil {
		ctx = by(ctx, who.IAM.UserARN)
	}
	w, err := g.serve(ctx, incoming{event.RequestContext.HTTP.Method, path, event.RawQueryString, header, event.Body, event.IsBase64Encoded})
	if err != nil {
		return nil, err
	}
	body, encoded := w.text()
	headers := map[string]string{}
	for name, values := range w.header {
		headers[name] = strings.Join(values, ",")
	}
	return &events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: headers, Body: body, IsBase64Encoded: encoded}, nil
}

// at notes the address of the API, which the event alone knows: its stage, or the path of a custom
// domain, stands before the path of each request.
func at(ctx context.Context, domain, stage string) context.Context {
	if domain == "" {
		return ctx
	}
	return api.At(ctx, "https://"+domain+stage)
}

// by notes who signed the request; "" where it needs no signature.
func by(ctx context.Context, caller string) context.Context {
	if caller == "" {
		return ctx
	}
	return api.By(ctx, caller)
}

// incoming is what both kinds of event say of a request.
type incoming struct {
	method, path, query string
	header              http.Header
	body                string
	base64              bool
}

func (g gateway) serve(ctx context.Context, in incoming) (*answer, error) {
	body := []byte(in.body)
	if in.base64 {
		var err error
		if body, err = base64.StdEncoding.DecodeString(in.body); err != nil {
			return nil, fmt.Errorf("the body is not base64, as its event says: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, in.method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the event is no request: %w", err)
	}
	r.URL = address(in.path, in.query)
	r.RequestURI = r.URL.RequestURI()
	r.Header, r.Host = in.header, in.header.Get("Host")
	w := &answer{header: http.Header{}}
	g.handler.ServeHTTP(w, r)
	w.WriteHeader(http.StatusOK)
	return w, nil
}

// address takes a path that is escaped, as it was sent, or not: API Gateway's kinds differ in that.
func address(path, query string) *url.URL {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if plain, err := url.PathUnescape(path); err == nil {
		return &url.URL{Path: plain, RawPath: path, RawQuery: query}
	}
	return &url.URL{Path: path, RawQuery: query}
}

// answer is what a handler writes, kept until it is whole.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header { return w.header }

func (w *answer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *answer) Write(text []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(text)
}

// text is the body as an event has it.
func (w *answer) text() (body string, encoded bool) {
	if utf8.Valid(w.body.Bytes()) {
		return w.body.String(), false
	}
	return base64.StdEncoding.EncodeToString(w.body.Bytes()), true
}
