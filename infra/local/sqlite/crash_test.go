package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// crashPath is the environment variable that makes this test binary a process that writes until it is killed.
const crashPath = "REPRISE_TEST_CRASH_PATH"

// TestNothingAcknowledgedIsLost kills a process that writes, again and again, at moments that a seed decides.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := t.TempDir()
	records, mails := map[string]int{}, map[string][]string{}
	for range 5 {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), crashPath+"="+folder)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		kill := random.IntN(3000) + 1
		lines := bufio.NewScanner(out)
		for seen := 1; lines.Scan(); seen++ { // to the end: what it had said before it was killed counts
			var run, mail string
			var n int
			_, err := fmt.Sscan(lines.Text(), &run, &n, &mail)
			require.NoError(t, err, lines.Text())
			records[run] = max(records[run], n)
			if mail != "-" {
				mails[run] = append(mails[run], mail)
			}
			if seen == kill {
				require.NoError(t, child.Process.Kill())
			}
		}
		require.Error(t, child.Wait(), "it was killed")
		verify(t, folder, records, mails)
	}
}

func verify(t *testing.T, folder string, records map[string]int, mails map[string][]string) {
	t.Helper()
	s, err := sqlite.Open(folder, sqlite.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NotEmpty(t, records)
	for run, last := range records {
		view, err := s.Look(t.Context(), run, port.Position{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(view.Records), last, "records of %s", run)
		for i, rec := range view.Records {
			require.Equal(t, i+1, rec.Number, "a gap in the log of %s", run)
		}
		there := map[string]bool{}
		for _, item := range view.Inbox {
			there[item.Key] = true
		}
		for _, mail := range mails[run] {
			require.True(t, there["mail#"+mail+"#signal#go"], "mail %s of %s", mail, run)
		}
	}
}

// writeUntilKilled writes from several goroutines, and says what was acknowledged, one line each: run, record, mail.
func writeUntilKilled(path string) int {
	s, err := sqlite.Open(path, sqlite.Options{HotRuns: 4})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := 0; ; i++ {
				if err := writeRun(s, fmt.Sprintf("%d-%d-%d", os.Getpid(), g, i)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		})
	}
	all.Wait()
	return 0
}

func writeRun(s *sqlite.Store, run string) error {
	ctx := context.Background()
	summary, start := newRun(run)
	if err := s.Create(ctx, summary, start); err != nil {
		return err
	}
	for n := 1; n <= 20; n++ {
		if err := s.Put(ctx,
			&port.Commit{Run: run, Generation: 1, Record: newRecord(n)}); err != nil {
			return err
		}
		mail := "-"
		if n%3 == 0 {
			mail = fmt.Sprint(n)
			event := history.NewSignal(mail, "go", nil)
			if _, _, err := s.File(ctx, run, port.Item{Key: event.Key(1), Event: event,
				Durable: true}); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(os.Stdout, run, n, mail); err != nil {
			return err
		}
		if n == 5 {
			if err := s.Delete(ctx, run, []string{start.Key}); err != nil {
				return err
			}
		}
	}
	return nil
}
