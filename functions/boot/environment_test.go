package boot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEnvironment(t *testing.T) {
	given := map[string]string{"REPRISE_TABLE": "t", "REPRISE_BUCKET": "b", "REPRISE_RESUMES": "r", "REPRISE_TASKS": "k", "REPRISE_VERSION": "7"}
	getenv := func(name string) string { return given[name] }
	env, err := readEnvironment(getenv)
	require.NoError(t, err)
	require.Equal(t, 30*24*time.Hour, env.retention)
	require.Equal(t, "7", env.version)
	for days, ok := range map[string]bool{"15": true, "14": false, "x": false} {
		given["REPRISE_RETENTION_DAYS"] = days
		_, err := readEnvironment(getenv)
		require.Equal(t, ok, err == nil, days)
	}
	delete(given, "REPRISE_TABLE")
	delete(given, "REPRISE_TASKS")
	_, err = readEnvironment(getenv)
	require.ErrorContains(t, err, "REPRISE_TABLE, REPRISE_TASKS")
}
