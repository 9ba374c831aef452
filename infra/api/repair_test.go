package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func TestDoctor(t *testing.T) {
	w := start(t)
	healthy := map[string]any{"healthy": true, "blocked": []any{}, "overdue": []any{}, "queues": map[string]any{"ready": 0.0, "delayed": 0.0, "inFlight": 0.0, "dead": 0.0}}
	require.Equal(t, healthy, w.ok(200, "GET", "/v1/doctor", ""))

	run := w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"x","workflow":"nowhere"}`)["blocked"].(map[string]any)
	at := time.Now().UTC().Add(-time.Hour)
	require.NoError(t, w.store.PutDue(t.Context(),
		port.DueTimer{At: at, Run: "r", Generation: 1, Seq: 3}))
	require.NoError(t, w.store.PutDue(t.Context(), port.DueTimer{At: at.Add(2 * time.Hour),
		Run: "later", Generation: 1, Seq: 3}))
	found, err := w.client.Diagnose(t.Context())
	require.NoError(t, err)
	require.False(t, found.Healthy)
	require.Len(t, found.Blocked, 1)
	require.Equal(t, wire.BlockedRun{Run: "x", Workflow: "nowhere", Reason: "unknown-workflow",
		Message: run["message"].(string), Since: found.Blocked[0].Since,
		Version: "7"}, found.Blocked[0])
	require.WithinDuration(t, time.Now(), found.Blocked[0].Since, time.Minute)
	require.Equal(t, []wire.OverdueTimer{{Run: "r", Generation: 1, Seq: 3,
		At: found.Overdue[0].At}}, found.Overdue)
	require.True(t, at.Equal(found.Overdue[0].At))
}

func TestDoctorAsksTheQueues(t *testing.T) {
	queues, fault := wire.Queues{Backlog: wire.Backlog{Ready: 4, Delayed: 7}}, error(nil)
	w := start(t, func(c *api.Config) {
		c.Queues = func(context.Context) (wire.Queues, error) { return queues, fault }
	})
	diagnose := func() *wire.Diagnosis {
		found, err := w.client.Diagnose(t.Context())
		require.NoError(t, err)
		return found
	}
	require.True(t, diagnose().Healthy, "a backlog alone is nothing to worry about")
	queues.Dead = 1
	found := diagnose()
	require.False(t, found.Healthy)
	require.Equal(t, queues, *found.Queues)
	fault = errors.New("access denied")
	found = diagnose()
	require.False(t, found.Healthy)
	require.Equal(t, []string{"the queues: access denied"}, found.Unseen)
	require.Nil(t, found.Queues)
}

// TestDoctorSaysThatNothingIsStored: health and doctor say why the store cannot be written to.
func TestDoctorSaysThatNothingIsStored(t *testing.T) {
	sick := errors.New("reprise.db: the disk is full")
	w := start(t, func(c *api.Config) { c.Healthy = func(context.Context) error { return sick } })
	found, err := w.client.Diagnose(t.Context())
	require.NoError(t, err)
	require.False(t, found.Healthy)
	require.Equal(t, "reprise.db: the disk is full", found.Writes)
	require.ErrorContains(t, w.client.Health(t.Context()), "the disk is full")
	sick = nil
	found, err = w.client.Diagnose(t.Context())
	require.NoError(t, err)
	require.True(t, found.Healthy)
	require.NoError(t, w.client.Health(t.Context()))
}

// TestInspect: the findings of all pages.
func TestInspect(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	at := time.Now().Add(-time.Hour).UTC()
	stale := &history.TimerFired{Seq: 99}
	history.File(stale, "filing")
	_, _, err := w.store.File(t.Context(), "b", port.Item{Key: stale.Key(1), Event: stale,
		Stamp: at.UnixNano(), Durable: true})
	require.NoError(t, err)
	found, err := w.client.Inspect(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, &wire.Inspection{Checked: 1,
		Findings: []wire.Finding{{Run: "b", Workflow: "basket", Generation: 1,
			Kind: engine.FindingUnread, Name: "timer-fired", Since: found.Findings[0].Since}}}, found)
	require.True(t, at.Equal(found.Findings[0].Since))
	_, err = w.client.Inspect(t.Context(), "x")
	require.Equal(t, port.Invalid, client.CodeOf(err))
}

func TestRebuild(t *testing.T) {
	w := start(t, func(c *api.Config) { c.Rebuild = true })
	for i := range 3 {
		w.ok(201, "POST", "/v1/runs", fmt.Sprintf(`{"run":"b%d","workflow":"basket","input":1}`, i))
	}
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"x","workflow":"nowhere"}`)
	total := wire.Rebuilt{}
	for cursor := ""; ; {
		page, err := w.client.Rebuild(t.Context(), cursor)
		require.NoError(t, err)
		total.Open += page.Open
		total.Unblocked += page.Unblocked
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	require.Equal(t, wire.Rebuilt{Open: 4, Unblocked: 1}, total)
	p := w.problem("POST", "/v1/rebuild?cursor=x", "")
	require.Equal(t, `400 invalid: "x" is not a cursor of unfinished runs: take it from the page before`, fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail))
}
