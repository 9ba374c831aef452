package local_test

import (
	"database/sql"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // changes what is stored behind the store's back

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

var greeting = workflow.New("greeting", func(ctx workflow.Context, name string) (string, error) {
	by, err := workflow.AwaitSignal(ctx, approve)
	return name + ", says " + by, err
})

// TestSealedValuesThatWereSwappedBlockTheirRuns: each says so, what comes for it is kept, others go on, and it goes on once its
// records are back.
func TestSealedValuesThatWereSwappedBlockTheirRuns(t *testing.T) {
	for _, what := range []string{"record", "summary"} {
		t.Run(what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "runs.db")
			n := sealing(t, file)
			for _, run := range []string{"a", "b", "c"} {
				_, _, err := n.Start(t.Context(), engine.StartRequest{Run: run, Workflow: "greeting", Input: history.Payload(`"` + run + `"`)})
				require.NoError(t, err)
				require.Eventually(t, func() bool {
					records, err := n.History(t.Context(), run, 0, 0)
					return err == nil && len(records) == 1
				}, time.Minute, time.Millisecond)
			}
			require.NoError(t, n.Close())
			require.Empty(t, swap(t, file, what))

			n = sealing(t, file)
			_, err := n.Signal(t.Context(), engine.MessageRequest{Run: "c", ID: "m"}, "approve", history.Payload(`"Ann"`))
			require.NoError(t, err)
			ended, err := n.Wait(t.Context(), "c")
			require.NoError(t, err)
			require.Equal(t, `"c, says Ann"`, string(ended.Result))
			require.NoError(t, n.Close())
			require.Equal(t, []string{"a", "b"}, swap(t, file, what))

			n = sealing(t, file)
			_, err = n.Signal(t.Context(), engine.MessageRequest{Run: "a", ID: "m"}, "approve", history.Payload(`"Bob"`))
			require.NoError(t, err)
			ended, err = n.Wait(t.Context(), "a")
			require.NoError(t, err)
			require.Equal(t, `"a, says Bob"`, string(ended.Result))
			require.NoError(t, n.Close())
		})
	}
}

func sealing(t *testing.T, file string) *local.Node {
	t.Helper()
	ring, err := seal.ParseKeyring(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", seal.KeyBytes))))
	require.NoError(t, err)
	store, err := sqlite.Open(file, sqlite.Options{Codec: seal.New(ring)})
	require.NoError(t, err)
	n, err := local.Start(t.Context(), local.Config{Definitions: []workflow.Definition{greeting}, Store: store})
	require.NoError(t, err)
	return n
}

// swap exchanges what is stored of runs a and b, and says which runs are blocked.
func swap(t *testing.T, file, what string) (blocked []string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT run FROM run WHERE block IS NOT NULL ORDER BY run")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		run := ""
		require.NoError(t, rows.Scan(&run))
		blocked = append(blocked, run)
	}
	require.NoError(t, rows.Err())
	statement := map[string]string{
		"record": `WITH swapped AS (SELECT x.position, y.record FROM record x JOIN record y WHERE (x.key >> 24, y.key >> 24) IN (VALUES (1, 2), (2, 1)))
			UPDATE record SET record = s.record FROM swapped s WHERE s.position = record.position`,
		"summary": `WITH swapped AS (SELECT x.number, y.summary FROM run x JOIN run y WHERE (x.run, y.run) IN (VALUES ('a', 'b'), ('b', 'a')))
			UPDATE run SET summary = s.summary FROM swapped s WHERE s.number = run.number`,
	}[what]
	done, err := db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
	n, err := done.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	return blocked
}
