package template

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// deployment is template.yaml, as far as these tests look.
type deployment struct {
	Parameters map[string]parameter `yaml:"Parameters"`
	Globals    struct {
		Function function `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]resource `yaml:"Resources"`
}

type parameter struct {
	Description   string   `yaml:"Description"`
	Default       *string  `yaml:"Default"`
	AllowedValues []string `yaml:"AllowedValues"`
}

type resource struct {
	Type                string    `yaml:"Type"`
	DeletionPolicy      string    `yaml:"DeletionPolicy"`
	UpdateReplacePolicy string    `yaml:"UpdateReplacePolicy"`
	Properties          yaml.Node `yaml:"Properties"`
}

type queue struct {
	VisibilityTimeout      value         `yaml:"VisibilityTimeout"`
	MessageRetentionPeriod value         `yaml:"MessageRetentionPeriod"`
	SqsManagedSseEnabled   bool          `yaml:"SqsManagedSseEnabled"`
	RedrivePolicy          redrivePolicy `yaml:"RedrivePolicy"`
}

type redrivePolicy struct {
	Target   value `yaml:"deadLetterTargetArn"`
	Receives value `yaml:"maxReceiveCount"`
}

type function struct {
	FunctionName  value   `yaml:"FunctionName"`
	CodeURI       string  `yaml:"CodeUri"`
	Role          value   `yaml:"Role"`
	Timeout       value   `yaml:"Timeout"`
	Architectures []value `yaml:"Architectures"`
	RecursiveLoop string  `yaml:"RecursiveLoop"`
	LoggingConfig struct {
		LogGroup value `yaml:"LogGroup"`
	} `yaml:"LoggingConfig"`
	Environment struct {
		Variables map[string]value `yaml:"Variables"`
	} `yaml:"Environment"`
	Events map[string]event `yaml:"Events"`
}

type event struct {
	Type       string `yaml:"Type"`
	Properties source `yaml:"Properties"`
}

// source is an event source that is a queue.
type source struct {
	Queue         value    `yaml:"Queue"`
	BatchSize     value    `yaml:"BatchSize"`
	Window        value    `yaml:"MaximumBatchingWindowInSeconds"`
	ResponseTypes []string `yaml:"FunctionResponseTypes"`
	ScalingConfig struct {
		MaximumConcurrency value `yaml:"MaximumConcurrency"`
	} `yaml:"ScalingConfig"`
}

type role struct {
	ManagedPolicies value `yaml:"ManagedPolicyArns"`
	Policies        []struct {
		Document policy `yaml:"PolicyDocument"`
	} `yaml:"Policies"`
}

type policy struct {
	Statement []statement `yaml:"Statement"`
}

type statement struct {
	Sid      string `yaml:"Sid"`
	Effect   string `yaml:"Effect"`
	Action   values `yaml:"Action"`
	Resource values `yaml:"Resource"`
	// Condition of the deployment on which there is the statement.
	If string `yaml:"-"`
}

// UnmarshalYAML reads a statement, one that depends on a condition as if it were met: "!If [Condition, statement, nothing]".
func (s *statement) UnmarshalYAML(node *yaml.Node) error {
	if node.Tag == "!If" && len(node.Content) == 3 {
		s.If, node = node.Content[0].Value, node.Content[1]
	}
	type plain statement
	return node.Decode((*plain)(s))
}

// value is a text or number as the template has it, an intrinsic function with its tag: "360", "!Ref Receives", "!GetAtt Dead.Arn".
type value string

// UnmarshalYAML keeps the tag. A value that depends on a condition is read as if the condition were
// met.
func (v *value) UnmarshalYAML(node *yaml.Node) error {
	if node.Tag == "!If" {
		node = node.Content[1]
	}
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: not a scalar", node.Line)
	}
	*v = value(node.Value)
	if !strings.HasPrefix(node.Tag, "!!") {
		*v = value(node.Tag + " " + node.Value)
	}
	return nil
}

// values is one value, or a list of them.
type values []value

// UnmarshalYAML reads both.
func (v *values) UnmarshalYAML(node *yaml.Node) error {
	nodes := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode && node.Tag != "!If" {
		nodes = node.Content
	}
	for _, node := range nodes {
		var one value
		if err := one.UnmarshalYAML(node); err != nil {
			return err
		}
		*v = append(*v, one)
	}
	return nil
}

// names is the logical id of the resource that a value refers to, by !Ref or as !GetAtt of its ARN.
func (v value) names() string {
	text := strings.TrimPrefix(strings.TrimPrefix(string(v), "!Ref "), "!GetAtt ")
	return strings.TrimSuffix(text, ".Arn")
}

// parse reads the template of this repository.
func parse(t *testing.T) *deployment {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	require.NoError(t, err)
	d := &deployment{}
	require.NoError(t, yaml.Unmarshal(text, d))
	return d
}

// kept gives all resources of a type, decoded, by logical id.
func kept[T any](t *testing.T, d *deployment, kind string) map[string]T {
	t.Helper()
	found := map[string]T{}
	for id, r := range d.Resources {
		if r.Type == kind {
			var properties T
			require.NoError(t, r.Properties.Decode(&properties), id)
			found[id] = properties
		}
	}
	require.NotEmpty(t, found, kind)
	return found
}

func (d *deployment) functions(t *testing.T) map[string]function {
	t.Helper()
	return kept[function](t, d, "AWS::Serverless::Function")
}

func (d *deployment) queues(t *testing.T) map[string]queue {
	t.Helper()
	return kept[queue](t, d, "AWS::SQS::Queue")
}

func (d *deployment) roles(t *testing.T) map[string]role {
	t.Helper()
	return kept[role](t, d, "AWS::IAM::Role")
}

// number is a value at the defaults of the parameters.
func (d *deployment) number(t *testing.T, v value) int {
	t.Helper()
	text := string(v)
	if name, ok := strings.CutPrefix(text, "!Ref "); ok {
		require.NotNil(t, d.Parameters[name].Default, "%s has no default", name)
		text = *d.Parameters[name].Default
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// sorted gives the keys of a map in order, so that a failing test always fails at the same place.
func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
