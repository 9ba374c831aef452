//go:build kill

package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/workflows/order"
)

// settling is how long orders may take to end once nobody disturbs them.
const settling = 2 * time.Minute

// account is all that is left, to be held against each other.
type account struct {
	t          *testing.T
	client     *client.Client
	told       map[string]said
	ledger     order.Ledger
	summaries  map[string]*wire.Summary
	logs       map[string]*log
	done       map[order.Kind]map[string][]order.Entry // by run
	statistics *statistics
}

// statistics are what the test prints.
type statistics struct {
	statuses                                        map[string]int
	records, attempts, activities, promises, unread int
}

func (s *statistics) String() string {
	var text strings.Builder
	for _, status := range slices.Sorted(maps.Keys(s.statuses)) {
		fmt.Fprintf(&text, "%s %d, ", status, s.statuses[status])
	}
	fmt.Fprintf(&text, "%d records, %d activities resolved by attempt %.1f on average, %d mails accepted (%d after the run had decided to end)",
		s.records, s.activities, float64(s.attempts)/float64(max(1, s.activities)), s.promises, s.unread)
	return text.String()
}

func newAccount(t *testing.T, c *callers, ledger order.Ledger) *account {
	t.Helper()
	return &account{t: t, client: c.client, told: c.told, ledger: ledger, summaries: map[string]*wire.Summary{}, logs: map[string]*log{},
		done: map[order.Kind]map[string][]order.Entry{}, statistics: &statistics{statuses: map[string]int{}}}
}

// collect waits until every order has ended, and reads everything.
func (a *account) collect(ctx context.Context, plans []*plan) {
	a.t.Helper()
	waiting, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for _, p := range plans {
		summary, err := a.client.Wait(waiting, p.run)
		if err != nil || summary.Blocked != nil || !summary.Status.Closed() {
			shown, _ := json.Marshal(summary)
			a.t.Fatalf("%s (%s) does not end: %v\n%s\nits log: %s", p.run, p.fate, err, shown, a.show(ctx, p.run))
		}
		a.summaries[p.run] = summary
		a.logs[p.run] = a.read(ctx, p.run)
	}
	for _, kind := range []order.Kind{order.Reservations, order.Charges, order.Shipments} {
		a.done[kind] = map[string][]order.Entry{}
		entries, err := a.ledger.Entries(kind)
		require.NoError(a.t, err)
		for _, entry := range entries {
			a.done[kind][entry.Run] = append(a.done[kind][entry.Run], entry)
		}
	}
	a.recount(ctx, len(plans))
}

// show gives a run's log as it is stored.
func (a *account) show(ctx context.Context, run string) (text string) {
	for record, err := range a.client.Records(ctx, run, 1) {
		text += fmt.Sprintf("\n%s %v", record, err)
	}
	return text
}

// recount lists the runs: each is there, once, and none is blocked.
func (a *account) recount(ctx context.Context, runs int) {
	a.t.Helper()
	listed := map[string]bool{}
	for summary, err := range a.client.All(ctx, port.ListQuery{Limit: engine.LongestPage}) {
		require.NoError(a.t, err)
		require.False(a.t, listed[summary.Run], "%s is listed twice", summary.Run)
		require.NotNil(a.t, a.summaries[summary.Run], "nobody started %s", summary.Run)
		require.Equal(a.t, a.summaries[summary.Run].Status, summary.Status)
		require.Nil(a.t, summary.Blocked)
		listed[summary.Run] = true
	}
	require.Len(a.t, listed, runs)
}

func (a *account) read(ctx context.Context, run string) *log {
	a.t.Helper()
	l := newLog()
	for text, err := range a.client.Records(ctx, run, 1) {
		require.NoError(a.t, err, run)
		rec, err := history.DecodeRecord(text)
		require.NoError(a.t, err, run)
		l.add(rec)
	}
	left, err := a.client.Activities(ctx, run)
	require.NoError(a.t, err)
	if len(left) > 0 {
		l.wrongly("it has ended, and %s is shown as under way: %+v", left[0].Activity, *left[0])
	}
	var exported bytes.Buffer
	require.NoError(a.t, a.client.Export(ctx, run, 1, &exported))
	workflowtest.Replay(a.t, exported.Bytes(), order.Workflow)
	return l
}

// check holds everything against each other.
func (a *account) check(plans []*plan) {
	a.t.Helper()
	for _, p := range plans {
		l := a.logs[p.run]
		problems := slices.Concat(l.problems(), a.end(p), a.effects(p), a.promises(p))
		for _, problem := range problems {
			a.t.Errorf("%s (%s): %s", p.run, p.fate, problem)
		}
		a.statistics.statuses[string(a.summaries[p.run].Status)]++
		a.statistics.records += l.records
		for _, resolved := range l.resolved {
			a.statistics.activities++
			a.statistics.attempts += max(1, resolved.Number)
		}
	}
}

// end says whether the order ended as planned.
func (a *account) end(p *plan) (problems []string) {
	summary, l := a.summaries[p.run], a.logs[p.run]
	failure, allowed := p.fate.ends()[summary.Status]
	if !allowed {
		return []string{fmt.Sprintf("it ended %s: %+v", summary.Status, summary.Failure)}
	}
	if failure != "" && workflow.FailureType(summary.Failure) != failure {
		problems = append(problems, fmt.Sprintf("it failed with %v, not with %s", summary.Failure, failure))
	}
	if l.closes == nil || l.closes.Status() != summary.Status {
		problems = append(problems, fmt.Sprintf("its summary says %s, its log %v", summary.Status, l.closes))
	}
	if summary.Generation != 1 {
		problems = append(problems, fmt.Sprintf("it is in generation %d", summary.Generation))
	}
	return problems
}

// effects says whether the ledger agrees with the log: a completed order has one of each kind; of another, all is undone.
func (a *account) effects(p *plan) (problems []string) {
	l, completed := a.logs[p.run], a.summaries[p.run].Status == history.Completed
	receipt, err := history.Decode[order.Receipt](a.summaries[p.run].Result)
	if err != nil {
		return []string{err.Error()}
	}
	for _, step := range []struct {
		kind         order.Kind
		does, undoes string
		confirmation string
	}{
		{order.Reservations, order.Reserve.Name(), order.Release.Name(), receipt.Reservation},
		{order.Charges, order.Charge.Name(), order.Refund.Name(), receipt.Charge},
		{order.Shipments, order.Ship.Name(), order.Recall.Name(), receipt.Shipment},
	} {
		entries := a.done[step.kind][p.run]
		if len(entries) > 1 {
			problems = append(problems, fmt.Sprintf("%d entries of kind %s", len(entries), step.kind))
		}
		for _, entry := range entries {
			if entry.Undone == completed || entry.Key != l.key(p.run, step.does) {
				problems = append(problems, fmt.Sprintf("completed %v, and %+v in the ledger (the log has %s)", completed, entry, l.key(p.run, step.does)))
			}
		}
		result, succeeded := l.succeeded(step.does)
		if (completed || succeeded) && len(entries) == 0 {
			problems = append(problems, fmt.Sprintf("completed %v, %s succeeded %v, and no %s in the ledger", completed, step.does, succeeded, step.kind))
		}
		if _, undone := l.succeeded(step.undoes); undone == completed && l.key(p.run, step.does) != "" {
			problems = append(problems, fmt.Sprintf("completed %v, %s succeeded %v", completed, step.undoes, undone))
		}
		if completed && result != step.confirmation {
			problems = append(problems, fmt.Sprintf("the receipt has %q, the log %q", step.confirmation, result))
		}
	}
	if moved := a.told[p.run].moved; moved && receipt.Address != p.moves {
		problems = append(problems, fmt.Sprintf("the address was changed to %q, and the order shipped to %q", p.moves, receipt.Address))
	}
	return problems
}

// promises says whether all that was accepted was honoured: it is in the log, or the run had decided to end before it came.
func (a *account) promises(p *plan) (problems []string) {
	told, l := a.told[p.run], a.logs[p.run]
	if !told.started {
		problems = append(problems, "it was never started")
	}
	for _, promise := range told.mail {
		a.statistics.promises++
		if l.mail[promise.id] == 1 {
			continue
		}
		a.statistics.unread++
		const between = time.Second // the look at the inbox, and the record of what it led to
		if promise.at.Add(between).Before(l.last) {
			problems = append(problems, fmt.Sprintf("%s was accepted at %s, the run ended at %s, and its log does not have it", promise.id, promise.at, l.last))
		}
	}
	return problems
}
