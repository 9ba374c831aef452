package boot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api"
)

func TestEnvironment(t *testing.T) {
	given := map[string]string{"REPRISE_TABLE": "t", "REPRISE_BUCKET": "b", "REPRISE_RESUMES": "r", "REPRISE_TASKS": "k", "REPRISE_VERSION": "7"}
	getenv := func(name string) string { return given[name] }
	env, err := readEnvironment(getenv)
	require.NoError(t, err)
	require.Equal(t, 30*24*time.Hour, env.retention)
	require.Equal(t, "7", env.version)
	require.Equal(t, api.BySignature, env.access)
	require.Nil(t, env.useMemory(), "it is not known how much there is")
	given["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = "512"
	given["REPRISE_AUTHORIZER"] = "NONE"
	env, err = readEnvironment(getenv)
	require.NoError(t, err)
	require.Equal(t, api.ByNothing, env.access)
	require.EqualValues(t, 256<<20, env.useMemory().Total())
	for days, ok := range map[string]bool{"15": true, "14": false, "x": false} {
		given["REPRISE_RETENTION_DAYS"] = days
		_, err := readEnvironment(getenv)
		require.Equal(t, ok, err == nil, days)
	}
	given["REPRISE_RETENTION_DAYS"] = ""
	for shards, ok := range map[string]bool{"8": true, "1024": true, "7": false, "1025": false,
		"x": false} {
		given["REPRISE_SHARDS"] = shards
		_, err := readEnvironment(getenv)
		require.Equal(t, ok, err == nil, shards)
	}
	given["REPRISE_SHARDS"] = ""
	require.ErrorContains(t, env.workers.Check(t.Context(), "http://10.0.0.1"), "no rule allows it",
		"no URL is called unless told")
	for rules, ok := range map[string]bool{"10.0.0.0/8,*.example.com": true,
		"10.0.0.0/8, x.invalid:90": true, "http://a": false, "169.254.169.254": false} {
		given["REPRISE_ALLOW_WORKERS"] = rules
		env, err := readEnvironment(getenv)
		require.Equal(t, ok, err == nil, rules)
		if ok {
			require.NoError(t, env.workers.Check(t.Context(), "http://10.0.0.1"))
		} else {
			require.ErrorContains(t, err, "the parameter AllowWorkers: ")
		}
	}
	given["REPRISE_ALLOW_WORKERS"] = ""
	require.Equal(t, 15*time.Second, env.workerTTL)
	for seconds, ok := range map[string]bool{
		"1": true, "86400": true, "0": false, "86401": false, "15s": false,
	} {
		given["REPRISE_WORKER_TTL"] = seconds
		_, err := readEnvironment(getenv)
		require.Equal(t, ok, err == nil, seconds)
	}
	given["REPRISE_WORKER_TTL"] = "20"
	env, err = readEnvironment(getenv)
	require.NoError(t, err)
	require.Equal(t, 20*time.Second, env.workerTTL)
	delete(given, "REPRISE_TABLE")
	delete(given, "REPRISE_TASKS")
	_, err = readEnvironment(getenv)
	require.ErrorContains(t, err, "REPRISE_TABLE, REPRISE_TASKS")
}

// TestVariables: the template's parameter becomes environment variables, beside those that are there.
func TestVariables(t *testing.T) {
	found := map[string]string{"REPRISE_TABLE": "t"}
	lookup := func(name string) (value string, ok bool) {
		value, ok = found[name]
		return value, ok
	}
	set := func(name, value string) error {
		found[name] = value
		return nil
	}
	require.NoError(t, setVariables("", lookup, set))
	require.Len(t, found, 1)
	require.NoError(t, setVariables("STAGE=prod,URL=https://example.com/?a=b,EMPTY=", lookup, set))
	want := map[string]string{"REPRISE_TABLE": "t", "STAGE": "prod", "URL": "https://example.com/?a=b", "EMPTY": ""}
	require.Equal(t, want, found)
	for text, why := range map[string]string{"STAGE": "write NAME=value", "=x": "write NAME=value",
		"A=1,,B=2": "write NAME=value", "REPRISE_TABLE=other": "has set already", "STAGE=a,STAGE=b": "has set already"} {
		require.ErrorContains(t, setVariables(text, lookup, set), why, text)
	}
}
