package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/history"
)

// Version of the API. What is added raises the second number; what would break callers gets a /v2.
const Version = "1.0.0"

func newDocument(registry huma.Registry) *huma.OpenAPI {
	return &huma.OpenAPI{OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Reprise", Version: Version,
			Description: "Durable workflows: start runs, send them messages, see what they have done.\n\n" +
				"What is accepted (2xx) is durable. Errors are problems (RFC 9457) with a stable code. Values of yours are JSON and come back as you wrote them. " +
				"A field or parameter that is not known is refused.",
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}},
		Servers: []*huma.Server{{URL: "/"}},
		Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "One of the server's tokens. A server that listens on a loopback address may do without; " +
				"behind an API Gateway of AWS, requests are signed instead (signature version 4)."},
		}},
		Security: []map[string][]string{{"bearer": {}}, {}}}
}

// newRegistry knows how the engine's types are described.
func newRegistry() huma.Registry {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	for described, by := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[history.Payload](): reflect.TypeFor[json.RawMessage](),
		reflect.TypeFor[history.Failure](): reflect.TypeFor[failure](),
		reflect.TypeFor[history.Parent]():  reflect.TypeFor[parent](),
	} { // order-insensitive: a map is filled
		registry.RegisterTypeAlias(described, by)
	}
	return registry
}

// addDocuments finishes the document, and serves it.
func (h *Handler) addDocuments() {
	for name, schema := range h.registry.Map() { // order-insensitive: each is changed alone
		if !strings.HasSuffix(name, "Body") { // answers may grow; requests are read strictly
			schema.AdditionalProperties = nil
		}
		for _, property := range schema.Properties { // order-insensitive: each is changed alone
			if property.Type == huma.TypeArray {
				property.Nullable = false
			}
		}
		slices.Sort(schema.Required)
	}
	h.mux.HandleFunc("GET /v1/openapi.json", h.serveDocument("application/openapi+json", func(document *huma.OpenAPI) ([]byte, error) {
		text, err := json.MarshalIndent(document, "", "  ")
		return append(text, '\n'), err
	}))
	h.mux.HandleFunc("GET /v1/openapi.yaml", h.serveDocument("application/openapi+yaml", (*huma.OpenAPI).YAML))
}

func (h *Handler) serveDocument(contentType string, write func(*huma.OpenAPI) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		document := *h.openapi
		if base, ok := r.Context().Value(baseKey{}).(string); ok {
			document.Servers = []*huma.Server{{URL: base}}
		}
		text, err := write(&document)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(text) // the caller may have gone
	}
}

type baseKey struct{}

// At notes the address of the API in the context of a request, as its caller knows it:
// "https://example.com/live". The OpenAPI document then names that address. Without it, the
// document names the root of the host that serves it.
func At(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, baseKey{}, base)
}

// Access says how callers authenticate. It changes the OpenAPI document only: the server's
// tokens, or a gateway in front of it, decide which callers they let in.
type Access int

const (
	// ByToken: a token of the server's, or nothing on a loopback address.
	ByToken Access = iota
	// BySignature: callers sign their requests with AWS Signature Version 4.
	BySignature
	// ByNothing: the API is open.
	ByNothing
)

// declare writes into the document how callers authenticate.
func (a Access) declare(document *huma.OpenAPI) {
	switch a {
	case BySignature:
		document.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"sigv4": {
			Type: "apiKey", In: "header", Name: "Authorization",
			Description: "AWS Signature Version 4, for the service execute-api in the region of the address. " +
				"The caller needs the permission execute-api:Invoke. " +
				"The reprise command, curl --aws-sigv4 and the SDKs of AWS sign requests.",
			Extensions: map[string]any{"x-amazon-apigateway-authtype": "awsSigv4"},
		}}
		document.Security = []map[string][]string{{"sigv4": {}}}
	case ByNothing:
		document.Components.SecuritySchemes, document.Security = nil, nil
	case ByToken: // as the document has it
	}
}
