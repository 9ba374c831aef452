package template

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// kept parts may come from a former deployment: each has a condition, a parameter and a resource.
var keptParts = []struct{ condition, parameter, resource string }{
	{"MakesTable", "ExistingTable", "Table"},
	{"MakesBucket", "ExistingBucket", "Payloads"},
}

// TestAnExistingTableIsUsedEverywhere: where the stack makes no table or bucket, nothing refers to
// its own.
func TestAnExistingTableIsUsedEverywhere(t *testing.T) {
	root := document(t)
	d := parse(t)
	for _, part := range keptParts {
		require.Empty(t, *d.Parameters[part.parameter].Default)
		own := regexp.MustCompile(`^!(Ref|GetAtt|Sub) .*\b` + part.resource + `(\.|\}|$)`)
		branches := 0
		var visit func(node *yaml.Node)
		visit = func(node *yaml.Node) {
			switch {
			case node.Tag == "!If" && node.Content[0].Value == part.condition:
				branches++
				require.Contains(t, node.Content[2].Value, part.parameter, "line %d", node.Line)
			case node.Kind == yaml.ScalarNode && !strings.HasPrefix(node.Tag, "!!"):
				require.NotRegexp(t, own, node.Tag+" "+node.Value, "line %d refers to a %s that may not be there", node.Line, part.resource)
			default:
				for _, child := range node.Content {
					visit(child)
				}
			}
		}
		resources := member(root, "Resources")
		for i := 0; i+1 < len(resources.Content); i += 2 {
			if condition := member(resources.Content[i+1], "Condition"); condition == nil || condition.Value != part.condition {
				visit(resources.Content[i+1])
			}
		}
		visit(member(root, "Outputs"))
		require.Greater(t, branches, 6, part.condition)
		require.Equal(t, part.condition, member(member(resources, part.resource), "Condition").Value)
	}
}

// TestWhatIsNotAskedForIsOff: by default, no function is in a VPC, traced, or limited beyond its
// queue's concurrency.
func TestWhatIsNotAskedForIsOff(t *testing.T) {
	d := parse(t)
	for name, value := range map[string]string{"TaskPolicies": "", "ActivatePolicies": "",
		"Variables": "", "SubnetIds": "", "SecurityGroupIds": "",
		"ApiConcurrency": "0",
		"AllowWorkers":   "",
		"Tracing":        "PassThrough",
		"AccessLog":      "false",
		"WarmReads":      "12000",
		"WarmWrites":     "4000"} {
		require.Equal(t, value, *d.Parameters[name].Default, name)
	}
}

// TestOptionsOfTheFunctions: each parameter reaches what it is for, and nothing else.
func TestOptionsOfTheFunctions(t *testing.T) {
	root := document(t)
	functions := member(member(root, "Globals"), "Function")
	require.Equal(t, "Tracing", member(functions, "Tracing").Value)
	require.Equal(t, "InVPC", member(functions, "VpcConfig").Content[0].Value)
	resources := member(root, "Resources")
	for id, f := range parse(t).functions(t) {
		limit := member(member(member(resources, id), "Properties"), "ReservedConcurrentExecutions")
		require.Equal(t, id == "ApiFunction", limit != nil, id)
		want := map[string]value{"TaskFunction": "!Ref TaskPolicies", "ActivateFunction": "!Ref ActivatePolicies"}[id]
		role := parse(t).roles(t)[f.Role.names()]
		require.Equal(t, want, role.ManagedPolicies, id)
		conditional := map[string]bool{}
		for _, s := range role.Policies[0].Document.Statement {
			conditional[s.If] = true
		}
		require.Equal(t, map[string]bool{"": true, "Seals": true, "InVPC": true, "Traces": true}, conditional, id)
	}
	api := member(member(resources, "Api"), "Properties")
	require.Equal(t, "Traces", member(api, "TracingEnabled").Content[0].Value)
	require.Equal(t, "LogsAccess", member(api, "AccessLogSetting").Content[0].Value)
	warm := member(member(member(resources, "Table"), "Properties"), "WarmThroughput")
	require.Equal(t, "Warms", warm.Content[0].Value)
}

// document is the template as it is written.
func document(t *testing.T) *yaml.Node {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	require.NoError(t, err)
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal(text, &document))
	return document.Content[0]
}

// member of a mapping; nil if there is none.
func member(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}
