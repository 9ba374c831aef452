package template

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

// fortnight is how long SQS keeps a message at most, in seconds.
const fortnight = 14 * 24 * 60 * 60

func TestEveryParameterHasADefaultAndADescription(t *testing.T) {
	d := parse(t)
	for _, name := range sorted(d.Parameters) {
		require.NotNil(t, d.Parameters[name].Default, name)
		require.NotEmpty(t, d.Parameters[name].Description, name)
	}
}

func TestFunctionsRunOnARMUnlessToldOtherwise(t *testing.T) {
	d := parse(t)
	require.Equal(t, []value{"!Ref Architecture"}, d.Globals.Function.Architectures)
	require.Equal(t, "arm64", *d.Parameters["Architecture"].Default)
	for id, f := range d.functions(t) {
		require.Empty(t, f.Architectures, "%s must be as all are", id)
	}
}

func TestTheAPIIsClosedUnlessToldOtherwise(t *testing.T) {
	d := parse(t)
	type api struct {
		Auth struct {
			DefaultAuthorizer value  `yaml:"DefaultAuthorizer"`
			InvokeRole        string `yaml:"InvokeRole"`
		} `yaml:"Auth"`
	}
	for id, a := range kept[api](t, d, "AWS::Serverless::Api") {
		require.Equal(t, value("!Ref ApiAuthorizer"), a.Auth.DefaultAuthorizer, id)
	}
	require.Equal(t, "AWS_IAM", *d.Parameters["ApiAuthorizer"].Default)
	for id, f := range d.functions(t) {
		for name, e := range f.Events {
			require.Contains(t, []string{"Api", "SQS", "Schedule"}, e.Type, "%s of %s opens a way of its own", name, id)
		}
	}
}

func TestEachFolderOfFunctionsIsDeployed(t *testing.T) {
	mains, err := filepath.Glob("../../functions/*/main.go")
	require.NoError(t, err)
	var there, deployed []string
	for _, main := range mains {
		there = append(there, "functions/"+filepath.Base(filepath.Dir(main))+"/")
	}
	for _, f := range parse(t).functions(t) {
		deployed = append(deployed, f.CodeURI)
	}
	require.ElementsMatch(t, there, deployed)
}

// Lambda's poller may hold a message back and try again while the function is throttled; with less, the message is seen a
// second time meanwhile, and counts as delivered twice.
func TestMessagesStayHiddenForSixTimeouts(t *testing.T) {
	d := parse(t)
	d.sources(t, func(t *testing.T, f function, s source) {
		t.Helper()
		visible := d.number(t, d.queues(t)[s.Queue.names()].VisibilityTimeout)
		require.GreaterOrEqual(t, visible, 6*d.number(t, f.Timeout))
	})
}

func TestEventSources(t *testing.T) {
	d := parse(t)
	batches := map[string]int{"Resumes": 10, "Tasks": 1, "ResumesDead": 10, "TasksDead": 10}
	seen := map[string]bool{}
	d.sources(t, func(t *testing.T, _ function, s source) {
		t.Helper()
		seen[s.Queue.names()] = true
		require.Equal(t, []string{"ReportBatchItemFailures"}, s.ResponseTypes, "one bad message must not bring back the others")
		require.GreaterOrEqual(t, d.number(t, s.ScalingConfig.MaximumConcurrency), 2)
		require.Empty(t, s.Window, "a window delays every message")
		require.Equal(t, batches[s.Queue.names()], d.number(t, s.BatchSize))
	})
	require.Len(t, seen, len(batches), "a queue that nobody reads")
}

func TestNoMessageIsEverDropped(t *testing.T) {
	d := parse(t)
	queues := d.queues(t)
	after := map[string]string{"Resumes": "ResumesDead", "Tasks": "TasksDead", "ResumesDead": "Dead", "TasksDead": "Dead", "Dead": ""}
	require.ElementsMatch(t, sorted(after), sorted(queues))
	for _, id := range sorted(queues) {
		q := queues[id]
		require.Equal(t, fortnight, d.number(t, q.MessageRetentionPeriod), id)
		require.True(t, q.SqsManagedSseEnabled, id)
		require.Equal(t, after[id], q.RedrivePolicy.Target.names(), id)
		if after[id] != "" {
			require.GreaterOrEqual(t, d.number(t, q.RedrivePolicy.Receives), 5, "%s: throttling counts too", id)
		}
	}
}

func TestPoliciesNameWhatTheyAllow(t *testing.T) {
	d := parse(t)
	roles := d.roles(t)
	for _, id := range sorted(roles) {
		require.Contains(t, []value{"", "!Ref TaskPolicies", "!Ref ActivatePolicies"}, roles[id].ManagedPolicies, "%s", id)
		for _, p := range roles[id].Policies {
			for _, s := range p.Document.Statement {
				require.Equal(t, "Allow", s.Effect)
				for _, action := range s.Action {
					require.NotContains(t, action, "*", "%s, %s", id, s.Sid)
				}
				for _, on := range s.Resource {
					if slices.Contains(ofLambda, s.If) {
						continue // the resources of these actions have no names before
					}
					if on != "!Sub ${Payloads.Arn}/*" { // objects have no fixed names
						require.NotContains(t, on, "*", "%s, %s", id, s.Sid)
						require.NotContains(t, on, "arn:", "%s, %s: it must be of this stack", id, s.Sid)
					}
				}
			}
		}
	}
	used := map[string]string{}
	for id, f := range d.functions(t) {
		require.Contains(t, roles, f.Role.names(), id)
		require.Empty(t, used[f.Role.names()], "%s shares its role", id)
		used[f.Role.names()] = id
	}
}

func TestEachFunctionHasALogThatEnds(t *testing.T) {
	d := parse(t)
	type logGroup struct {
		Name      value `yaml:"LogGroupName"`
		Retention value `yaml:"RetentionInDays"`
	}
	groups := kept[logGroup](t, d, "AWS::Logs::LogGroup")
	for id, f := range d.functions(t) {
		group := groups[f.LoggingConfig.LogGroup.names()]
		require.Positive(t, d.number(t, group.Retention), id)
		require.Equal(t, "!Sub /aws/lambda/"+strings.TrimPrefix(string(f.FunctionName), "!Sub "), string(group.Name), id)
	}
}

func TestWhatIsKeptIsSafe(t *testing.T) {
	d := parse(t)
	for _, id := range []string{"Table", "Payloads"} {
		require.Equal(t, "Retain", d.Resources[id].DeletionPolicy, id)
		require.Equal(t, "Retain", d.Resources[id].UpdateReplacePolicy, id)
	}
	type table struct {
		BillingMode string `yaml:"BillingMode"`
		Recovery    struct {
			Enabled bool `yaml:"PointInTimeRecoveryEnabled"`
		} `yaml:"PointInTimeRecoverySpecification"`
		Encryption struct {
			Enabled bool `yaml:"SSEEnabled"`
		} `yaml:"SSESpecification"`
		DeletionProtection value `yaml:"DeletionProtectionEnabled"`
	}
	kept := kept[table](t, d, "AWS::DynamoDB::Table")["Table"]
	require.Equal(t, "PAY_PER_REQUEST", kept.BillingMode)
	require.True(t, kept.Recovery.Enabled)
	require.True(t, kept.Encryption.Enabled)
	require.Equal(t, value("!Ref DeletionProtection"), kept.DeletionProtection)
	require.Equal(t, "true", *d.Parameters["DeletionProtection"].Default)
}

func TestTheBucketIsPrivate(t *testing.T) {
	d := parse(t)
	type bucket struct {
		Block      map[string]bool `yaml:"PublicAccessBlockConfiguration"`
		Encryption struct {
			Rules []any `yaml:"ServerSideEncryptionConfiguration"`
		} `yaml:"BucketEncryption"`
	}
	b := kept[bucket](t, d, "AWS::S3::Bucket")["Payloads"]
	require.Equal(t, map[string]bool{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}, b.Block)
	require.NotEmpty(t, b.Encryption.Rules)

	type bucketPolicy struct {
		Document policy `yaml:"PolicyDocument"`
	}
	rules := kept[bucketPolicy](t, d, "AWS::S3::BucketPolicy")["PayloadsPolicy"].Document.Statement
	require.Len(t, rules, 1)
	require.Equal(t, "Deny", rules[0].Effect, "whoever may read is named in the functions' policies alone")
	require.Equal(t, values{"!GetAtt Payloads.Arn", "!Sub ${Payloads.Arn}/*"}, rules[0].Resource)
}

// TestOnlyWhereValuesAreSealedMayTheKeyBeUsed: each function, since each meets values; on that key, and where there is one, alone.
func TestOnlyWhereValuesAreSealedMayTheKeyBeUsed(t *testing.T) {
	d := parse(t)
	require.Empty(t, *d.Parameters["EncryptionKey"].Default)
	roles := d.roles(t)
	for id, f := range d.functions(t) {
		found := 0
		for _, s := range roles[f.Role.names()].Policies[0].Document.Statement {
			if s.If != "Seals" && s.Sid != "Seal" {
				continue
			}
			found++
			require.Equal(t, "Seals", s.If, id)
			require.Equal(t, values{"kms:Decrypt", "kms:GenerateDataKey"}, s.Action, id)
			require.Equal(t, values{"!Ref EncryptionKey"}, s.Resource, id)
		}
		require.Equal(t, 1, found, id)
	}
}

func TestTheFunctionsEnvironment(t *testing.T) {
	d := parse(t)
	all := map[string]value{"REPRISE_TABLE": "!Ref Table", "REPRISE_BUCKET": "!Ref Payloads",
		"REPRISE_RESUMES":        "!Ref Resumes",
		"REPRISE_TASKS":          "!Ref Tasks",
		"REPRISE_VERSION":        "!Ref Version",
		"REPRISE_KMS_KEY":        "!Ref EncryptionKey",
		"REPRISE_RETENTION_DAYS": "!Ref Retention",
		"REPRISE_SHARDS":         "!Ref Shards",
		"REPRISE_ALLOW_WORKERS":  "!Ref AllowWorkers",
		"REPRISE_WORKER_TTL":     "!Ref WorkerTTL",
		"REPRISE_REDACT":         "!Ref Redact",
		"REPRISE_VARIABLES":      "!Ref Variables"}
	require.Equal(t, all, d.Globals.Function.Environment.Variables)
	dead := map[string]value{"REPRISE_DEAD": "!Ref Dead"}
	require.Equal(t, dead, d.functions(t)["DeadletterFunction"].Environment.Variables)
	dead["REPRISE_AUTHORIZER"] = "!Ref ApiAuthorizer"
	require.Equal(t, dead, d.functions(t)["ApiFunction"].Environment.Variables)

	require.Equal(t, int(port.WorkerTTL.Seconds()), d.number(t, "!Ref WorkerTTL"),
		"as a server has it")

	build, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	require.Contains(t, string(build), "Version=", "make deploy tells versions apart")
}

// sources runs a test for each event source that is a queue.
func (d *deployment) sources(t *testing.T, test func(*testing.T, function, source)) {
	t.Helper()
	functions := d.functions(t)
	for _, id := range sorted(functions) {
		for _, name := range sorted(functions[id].Events) {
			if e := functions[id].Events[name]; e.Type == "SQS" {
				t.Run(id+"/"+name, func(t *testing.T) { test(t, functions[id], e.Properties) })
			}
		}
	}
}
