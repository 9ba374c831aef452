package architecture

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// dependencies are the modules that this one asks for itself, each with what it is here for. Another one is a decision: whoever
// takes it writes down why.
var dependencies = map[string]string{
	"github.com/aws/aws-lambda-go":                  "the runtime of functions, and the events of AWS",
	"github.com/aws/aws-sdk-go-v2":                  "signatures and retries of AWS",
	"github.com/aws/aws-sdk-go-v2/config":           "credentials and regions, as every AWS program finds them",
	"github.com/aws/aws-sdk-go-v2/credentials":      "fixed credentials, for tests against DynamoDB Local and LocalStack",
	"github.com/aws/aws-sdk-go-v2/service/dynamodb": "the table",
	"github.com/aws/aws-sdk-go-v2/service/kms":      "data keys that values are sealed with",
	"github.com/aws/aws-sdk-go-v2/service/s3":       "long payloads",
	"github.com/aws/aws-sdk-go-v2/service/sqs":      "the queues",
	"github.com/aws/smithy-go":                      "errors and middleware of the AWS SDK",
	"github.com/cockroachdb/datadriven":             "transcripts that tests are",
	"github.com/danielgtaylor/huma/v2":              "the OpenAPI document",
	"github.com/dop251/goja":                        "the parser of JavaScript that checks scripts: all mistakes at once, and names",
	"github.com/santhosh-tekuri/jsonschema/v6":      "tests that the OpenAPI document is one, and that the schema of flows agrees with their parser",
	"github.com/spf13/cobra":                        "the command line",
	"github.com/stretchr/testify":                   "assertions of tests",
	"go.uber.org/goleak":                            "tests that no goroutine is left behind",
	"go.yaml.in/yaml/v3":                            "tests that read template.yaml",
	"golang.org/x/mod":                              "go.mod and go.sum, which the audit workflow reads",
	"golang.org/x/sync":                             "concurrency of the benchmark of costs",
	"golang.org/x/tools":                            "tests/template finds with it what functions call",
	"modernc.org/libc":                              "tests that have the disk fail: the types of SQLite's calls",
	"modernc.org/quickjs":                           "the JavaScript engine of scripts, with hard limits, without C",
	"modernc.org/sqlite":                            "the database of a single process, without C",
}

func TestDependenciesAreThoseThatWereDecidedOn(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	file, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	var direct []string
	for _, required := range file.Require {
		if !required.Indirect {
			direct = append(direct, required.Mod.Path)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(dependencies)), direct)
	require.Empty(t, file.Replace, "a module in the place of another has no checksum that others could compare")
	require.Empty(t, file.Exclude)
}
