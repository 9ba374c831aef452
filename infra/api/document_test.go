package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/openapi.json anew")

const golden = "testdata/openapi.json"

func TestDocumentIsAsItWas(t *testing.T) {
	w := start(t)
	response, text := w.call(http.MethodGet, "/v1/openapi.json", "")
	require.Equal(t, "application/openapi+json", response.Header.Get("Content-Type"))
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "the API's document has changed: look at the difference, then run the test with -rewrite")
	response, text = w.call(http.MethodGet, "/v1/openapi.yaml", "")
	require.Equal(t, "application/openapi+yaml", response.Header.Get("Content-Type"))
	require.Contains(t, text, "operationId: start-run")
}

// The schema is OpenAPI's own, of the version that the document names.
func TestDocumentIsOpenAPI(t *testing.T) {
	const schemaFile = "testdata/openapi-3.1/schema.json"
	schema, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("https://spec.openapis.org/oas/3.1/schema", parsed))
	compiled, err := compiler.Compile("https://spec.openapis.org/oas/3.1/schema")
	require.NoError(t, err)
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(document))

	// What that schema leaves open: each schema in the document is JSON Schema, and describes all its fields.
	schemas := document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	require.NoError(t, err)
	for name, schema := range schemas {
		require.NoError(t, meta.Validate(schema), name)
		for field, property := range schema.(map[string]any)["properties"].(map[string]any) {
			require.NotEmpty(t, property.(map[string]any)["description"], "%s.%s", name, field)
		}
	}
}

// What the examples of the document say, the API must take: each request's fields are put together and sent.
func TestExamplesAreTaken(t *testing.T) {
	w := start(t)
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Examples []json.RawMessage }
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &document))
	body := map[string]json.RawMessage{}
	for name, property := range document.Components.Schemas["StartBody"].Properties {
		if len(property.Examples) > 0 {
			body[name] = property.Examples[0]
		}
	}
	sent, err := json.Marshal(body)
	require.NoError(t, err)
	require.Contains(t, string(sent), `"input":{`)
	response, answer := w.call(http.MethodPost, "/v1/runs", string(sent))
	require.Equal(t, http.StatusCreated, response.StatusCode, answer)
	require.True(t, strings.Contains(answer, "order-17"))
}

// TestEveryParameterHasAPattern holds each parameter's schema to what the server accepts: a value that the pattern refuses is
// refused, and one that it allows is not called malformed.
func TestEveryParameterHasAPattern(t *testing.T) {
	w := start(t)
	_, text := w.call(http.MethodGet, "/v1/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   struct {
					Type, Pattern string
					Enum          []any
					Items         struct{ Pattern string }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	patterns := map[string]string{}
	for path, operations := range document.Paths {
		for _, operation := range operations {
			for _, p := range operation.Parameters {
				pattern := p.Schema.Pattern + p.Schema.Items.Pattern
				if (p.Schema.Type == "string" || p.Schema.Type == "array") && p.Schema.Enum == nil {
					require.NotEmpty(t, pattern, "%s %s", path, p.Name)
					patterns[p.Name] = pattern
				}
			}
		}
	}
	texts := []string{"a", ".", "..", "...", ".a", "..a", "a b", "a/b", "a#b", "ü", "a\nb", "a\x7f", "a\u009b", "-1s", "0", "1", "1s", "1.5h", ".5ms", "1s2", "3m1s", "a=1", "=1", `a="x"`}
	for name, call := range map[string]string{"run": "GET /v1/runs/%s/activities", "name": "POST /v1/runs/none/signals/%s", "token": "POST /v1/activities/%s/complete",
		"wait": "GET /v1/runs/none?wait=%s", "attribute": "GET /v1/runs?attribute=%s"} {
		pattern, err := regexp.Compile(patterns[name])
		require.NoError(t, err)
		for _, text := range texts {
			method, path, _ := strings.Cut(fmt.Sprintf(call, url.PathEscape(text)), " ")
			if strings.Contains(call, "?") {
				method, path, _ = strings.Cut(fmt.Sprintf(call, url.QueryEscape(text)), " ")
			}
			response, body := w.call(method, path, "")
			if !pattern.MatchString(text) {
				require.GreaterOrEqual(t, response.StatusCode, 300, "%s=%q: %s", name, text, body)
			} else if name != "token" && !(name == "attribute" && text == "a=x") {
				require.NotEqual(t, http.StatusBadRequest, response.StatusCode, "%s=%q: %s", name, text, body)
			}
		}
	}
}
