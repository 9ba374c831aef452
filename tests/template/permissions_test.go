package template

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// permissions are what a call needs, where that has another name.
var permissions = map[string][]string{
	"sqs:SendMessageBatch": {"sqs:SendMessage"},
	"s3:ListObjectsV2":     {"s3:ListBucket"},
	"s3:DeleteObjects":     {"s3:DeleteObject"},
	// A transaction needs what its parts need: puts, and an update of a summary.
	"dynamodb:TransactWriteItems": {"dynamodb:PutItem", "dynamodb:UpdateItem"},
}

// polled is what Lambda's pollers do in the name of a function that takes messages.
var polled = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}

// logged is what Lambda does in the name of every function.
var logged = []string{"logs:CreateLogStream", "logs:PutLogEvents"}

// TestEachFunctionMayDoWhatItsCodeDoes reads the code of each function, from its main on, for the calls of AWS that it can come
// to, and the template for what the function may do: neither is to have what the other has not.
func TestEachFunctionMayDoWhatItsCodeDoes(t *testing.T) {
	d := parse(t)
	called := callsOf(t)
	functions := d.functions(t)
	require.Len(t, called, len(functions))
	for _, id := range sorted(functions) {
		f := functions[id]
		needed := map[string]bool{}
		for call := range called[strings.TrimSuffix(strings.TrimPrefix(f.CodeURI, "functions/"), "/")] {
			names, renamed := permissions[call]
			if !renamed {
				names = []string{call}
			}
			for _, name := range names {
				needed[name] = true
			}
		}
		for _, name := range logged {
			needed[name] = true
		}
		for _, e := range f.Events {
			if e.Type == "SQS" {
				for _, name := range polled {
					needed[name] = true
				}
			}
		}
		require.Equal(t, sorted(needed), d.allowed(t, f), "%s: what its code needs, and what it may do", id)
	}
}

// TestCallsAreFound: what the test above finds in the code is not nothing, and not everything.
func TestCallsAreFound(t *testing.T) {
	called := callsOf(t)
	require.True(t, called["activate"]["dynamodb:Query"])
	require.True(t, called["task"]["dynamodb:PutItem"])
	require.True(t, called["api"]["dynamodb:Scan"], "rebuild")
	require.False(t, called["task"]["dynamodb:Scan"])
	require.False(t, called["activate"]["s3:DeleteObjects"])
}

// ofLambda are the conditions under which Lambda itself needs more, for a VPC and for X-Ray.
var ofLambda = []string{"InVPC", "Traces"}

// allowed are the actions that a function's role allows its code, each once.
func (d *deployment) allowed(t *testing.T, f function) (actions []string) {
	t.Helper()
	for _, p := range d.roles(t)[f.Role.names()].Policies {
		for _, s := range p.Document.Statement {
			if slices.Contains(ofLambda, s.If) {
				continue
			}
			for _, action := range s.Action {
				actions = append(actions, string(action))
			}
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}
