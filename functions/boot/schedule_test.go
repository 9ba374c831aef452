package boot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

// slowStore gives no answer to some of functions/timer's questions until their time is over.
type slowStore struct {
	*shakyStore
	timers, listing, deletion bool
}

func until(ctx context.Context, hangs bool) error {
	if !hangs {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *slowStore) DueBefore(ctx context.Context, before time.Time) ([]port.DueTimer, error) {
	if err := until(ctx, s.timers); err != nil {
		return nil, err
	}
	return s.shakyStore.DueBefore(ctx, before)
}

func (s *slowStore) List(
	ctx context.Context, query port.ListQuery,
) ([]*port.Summary, string, error) {
	if err := until(ctx, s.listing); err != nil {
		return nil, "", err
	}
	return s.shakyStore.List(ctx, query)
}

func (s *slowStore) DeleteClosed(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := until(ctx, s.deletion); err != nil {
		return 0, err
	}
	return s.shakyStore.DeleteClosed(ctx, before, limit)
}

// chores is a system with work for each of functions/timer's chores: a timer that is due soon, a run that
// is blocked under another version, and a run that ended long ago.
func chores(t *testing.T, slow *slowStore) *bench {
	t.Helper()
	b := newBench(t)
	slow.shakyStore = b.store
	b.Metrics = io.Discard
	parts := b.Parts
	parts.Store, parts.Version = slow, "2"
	var err error
	b.System, err = New(parts)
	require.NoError(t, err)
	t.Cleanup(b.Engine.Close)
	b.start("old", "Ann")
	old, err := b.store.Summary(t.Context(), "old")
	require.NoError(t, err)
	old.Status, old.Closed = "completed", time.Now().Add(-time.Hour)
	require.NoError(t, b.store.Put(t.Context(),
		&port.Commit{Run: "old", Generation: 1, Summary: old}))
	b.start("blocked", "Bob")
	block := &port.Block{ID: "b", Since: time.Now(), Version: "1", Reason: port.ReasonStuck}
	require.NoError(t, b.store.Block(t.Context(), "blocked", block))
	timer := port.DueTimer{At: time.Now().Add(time.Minute), Run: "blocked", Generation: 1}
	require.NoError(t, b.store.PutDue(t.Context(), timer))
	b.take(resumesURL, 1)
	return b
}

// sentFor tells which resumes were sent: firings, and messages that unblock.
func (b *bench) sentFor() (fired, unblocks int) {
	b.t.Helper()
	for _, entry := range b.sqs.sent[resumesURL] {
		resume, err := b.Queue.DecodeResume(b.t.Context(), *entry.MessageBody)
		require.NoError(b.t, err)
		switch {
		case resume.Carries != nil:
			fired++
		case resume.Unblocks != "":
			unblocks++
		}
	}
	return fired, unblocks
}

// TestChoresHaveTimeOfTheirOwn: where one of functions/timer's chores hangs until its time is over, the
// others do their work, and the error names the one that hangs.
func TestChoresHaveTimeOfTheirOwn(t *testing.T) {
	for hangs, slow := range map[string]*slowStore{
		"timers were not handed over": {timers: true}, "blocked runs were not tried": {listing: true},
		"ended runs were not deleted": {deletion: true},
	} {
		// a busy machine is no reason for a chore to run out of time
		synctest.Test(t, func(t *testing.T) {
			b := chores(t, slow)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			require.ErrorContains(t, b.HandleSchedule(ctx), hangs)
			fired, unblocks := b.sentFor()
			require.Equal(t, slow.timers, fired == 0)
			require.Equal(t, slow.listing, unblocks == 0)
			_, err := b.store.Summary(t.Context(), "old")
			require.Equal(t, slow.deletion, err == nil)
		})
	}
}

// TestTheScheduleReports: blocked runs are counted for the alarm, and a table that does not fit the
// deployment is an error.
func TestTheScheduleReports(t *testing.T) {
	b := chores(t, &slowStore{})
	var written bytes.Buffer
	b.Metrics = &written
	b.CheckTable = func(context.Context) error { return errors.New("fewer shards") }
	require.ErrorContains(t, b.HandleSchedule(t.Context()), "fewer shards")
	require.Contains(t, written.String(), `"BlockedRuns":1`)
}

// TestALearnedVersionUnblocks: where nothing names the deployment, the version counts that functions/activate
// has noted.
func TestALearnedVersionUnblocks(t *testing.T) {
	for version, want := range map[string]int{"1": 0, "3": 1} {
		b := chores(t, &slowStore{})
		b.Version = ""
		b.Deployed = func(context.Context) (port.Deployment, error) {
			return port.Deployment{Learned: true, Version: version, Since: time.Now()}, nil
		}
		require.NoError(t, b.HandleSchedule(t.Context()))
		_, unblocks := b.sentFor()
		require.Equal(t, want, unblocks, "a block under version 1, and version %s deployed", version)
	}
}
