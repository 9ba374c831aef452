package order_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
	"github.com/reprise-run/reprise/workflows/order"
)

// shop is an environment in which the real activities run, on a ledger of the test's own.
func shop(t *testing.T) (*workflowtest.Env, order.Input) {
	t.Helper()
	env := workflowtest.New(t)
	env.Register(order.Reserve, order.Release, order.Charge, order.Refund, order.Ship, order.Recall)
	t.Setenv(order.Folder, t.TempDir())
	return env, order.Input{Customer: "Ada", Address: "12 Park Row", Items: []order.Item{{SKU: "tea", Quantity: 2, Cents: 450}}, Ledger: "shop"}
}

// books opens the ledger that the shop's orders keep.
func books(t *testing.T) order.Ledger {
	t.Helper()
	ledger, err := order.OpenLedger(os.Getenv(order.Folder), "shop")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ledger.Close()) })
	return ledger
}

func approve(env *workflowtest.Env, after time.Duration) {
	env.At(after, func() { workflowtest.Signal(env, order.Approval, order.Decision{Approved: true, By: "Grace"}) })
}

// effective counts what was done and not undone.
func effective(t *testing.T, ledger order.Ledger) map[order.Kind]int {
	t.Helper()
	counts := map[order.Kind]int{}
	for _, kind := range []order.Kind{order.Reservations, order.Charges, order.Shipments} {
		entries, err := ledger.Entries(kind)
		require.NoError(t, err)
		for _, entry := range entries {
			if !entry.Undone {
				counts[kind]++
			}
		}
	}
	return counts
}

// done counts everything that was done, also what was undone.
func done(t *testing.T, ledger order.Ledger, kind order.Kind) int {
	t.Helper()
	entries, err := ledger.Entries(kind)
	require.NoError(t, err)
	return len(entries)
}

var (
	everything = map[order.Kind]int{order.Reservations: 1, order.Charges: 1, order.Shipments: 1}
	nothing    = map[order.Kind]int{}
)

func TestAnApprovedOrderIsShipped(t *testing.T) {
	env, input := shop(t)
	approve(env, time.Hour)

	receipt, err := workflowtest.Run(env, order.Workflow, input)

	require.NoError(t, err)
	require.Equal(t, "Grace", receipt.ApprovedBy)
	require.Equal(t, "12 Park Row", receipt.Address)
	require.NotEmpty(t, receipt.Charge)
	require.Equal(t, everything, effective(t, books(t)))
	require.Equal(t, order.Shipped, workflowtest.State[order.Progress](env).Stage)
	customer, _ := workflowtest.Attribute(env, order.Customer)
	cents, _ := workflowtest.Attribute(env, order.Total)
	stage, _ := workflowtest.Attribute(env, order.At)
	require.Equal(t, "Ada", customer)
	require.Equal(t, 900, cents)
	require.Equal(t, order.Shipped, stage)
}

func TestLostAnswersDoNothingTwice(t *testing.T) {
	env, input := shop(t)
	input.Faults.Fail = 3
	approve(env, time.Hour)

	_, err := workflowtest.Run(env, order.Workflow, input)

	require.NoError(t, err)
	require.Equal(t, everything, effective(t, books(t)))
	require.Equal(t, 1, done(t, books(t), order.Charges))
}

func TestWhatGoesWrongUndoesEverything(t *testing.T) {
	refuse := func(env *workflowtest.Env) {
		env.At(time.Minute, func() { workflowtest.Signal(env, order.Approval, order.Decision{By: "Grace"}) })
	}
	for name, c := range map[string]struct {
		faults  order.Faults
		decide  func(*workflowtest.Env)
		failure string
		charges int
		after   time.Duration
	}{
		"card declined":   {order.Faults{DeclineCard: true}, nil, order.CardDeclined, 0, 0},
		"nobody approves": {order.Faults{}, nil, order.NotApproved, 1, 24 * time.Hour},
		"refused":         {order.Faults{}, refuse, order.Refused, 1, time.Minute},
		"no carrier":      {order.Faults{NoCarrier: true}, func(env *workflowtest.Env) { approve(env, time.Second) }, order.Undeliverable, 1, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			env, input := shop(t)
			input.Faults = c.faults
			if c.decide != nil {
				c.decide(env)
			}

			_, err := workflowtest.Run(env, order.Workflow, input)

			require.Equal(t, c.failure, workflow.FailureType(err), "%v", err)
			require.Equal(t, c.charges, done(t, books(t), order.Charges))
			require.Equal(t, nothing, effective(t, books(t)))
			require.Equal(t, c.after, env.Elapsed())
			require.Equal(t, order.Undone, workflowtest.State[order.Progress](env).Stage)
		})
	}
}

func TestAnOrderThatWaitsIsCancelled(t *testing.T) {
	env, input := shop(t)
	env.At(time.Hour, func() { workflowtest.Cancel(env, "changed my mind") })

	_, err := workflowtest.Run(env, order.Workflow, input)

	require.ErrorIs(t, err, workflow.ErrCancelled)
	require.Equal(t, 1, done(t, books(t), order.Charges))
	require.Equal(t, nothing, effective(t, books(t)))
	require.Equal(t, time.Hour, env.Elapsed())
}

func TestStatusAnswersAtAnyTime(t *testing.T) {
	env, input := shop(t)
	approve(env, 2*time.Hour)
	env.At(time.Hour, func() {
		progress, err := workflowtest.Query(env, order.Status, struct{}{})
		require.NoError(t, err)
		require.Equal(t, order.AwaitingApproval, progress.Stage)
		require.Equal(t, 900, progress.Cents)
	})

	_, err := workflowtest.Run(env, order.Workflow, input)
	require.NoError(t, err)
	progress, err := workflowtest.Query(env, order.Status, struct{}{})
	require.NoError(t, err)
	require.Equal(t, order.Shipped, progress.Stage)
}

func TestTheAddressChangesUntilTheOrderIsShipped(t *testing.T) {
	env, input := shop(t)
	approve(env, 2*time.Hour)
	env.At(time.Hour, func() {
		progress, err := workflowtest.Update(env, order.ChangeAddress, "1 New Street").Result()
		require.NoError(t, err)
		require.Equal(t, "1 New Street", progress.Address)
		_, err = workflowtest.Update(env, order.ChangeAddress, "").Result()
		require.ErrorContains(t, err, "empty")
	})
	env.At(2*time.Hour, func() { // right after the approval: the order is shipping
		_, err := workflowtest.Update(env, order.ChangeAddress, "2 Late Lane").Result()
		require.Equal(t, order.TooLate, workflow.FailureType(err))
	})

	receipt, err := workflowtest.Run(env, order.Workflow, input)

	require.NoError(t, err)
	require.Equal(t, "1 New Street", receipt.Address)
}

func TestAWrongInputFailsBeforeAnythingHappens(t *testing.T) {
	env, input := shop(t)
	input.Customer, input.Items[0].Quantity, input.ApproveWithin = "", 0, -1

	_, err := workflowtest.Run(env, order.Workflow, input)

	require.Equal(t, order.Invalid, workflow.FailureType(err))
	for _, what := range []string{"customer", "items[0]", "approveWithin"} {
		require.ErrorContains(t, err, what)
	}
	require.Equal(t, 0, done(t, books(t), order.Reservations))
}

func TestAnAttemptThatIsLateDoesNotDoWhatWasUndone(t *testing.T) {
	shop(t)
	ledger := books(t)
	late := order.Entry{Key: "o-1/1/2", Run: "o-1", Order: "number"}

	require.NoError(t, ledger.Undo(order.Charges, "number"))
	_, err := ledger.Do(order.Charges, late)

	require.Error(t, err)
	require.Equal(t, nothing, effective(t, ledger))
}

func TestOneKeyIsOneEntry(t *testing.T) {
	shop(t)
	ledger := books(t)
	first, err := ledger.Do(order.Charges, order.Entry{Key: "a", Order: "1"})
	require.NoError(t, err)
	again, err := ledger.Do(order.Charges, order.Entry{Key: "a", Order: "1"})
	require.NoError(t, err)
	other, err := ledger.Do(order.Charges, order.Entry{Key: "b", Order: "2"})
	require.NoError(t, err)

	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
	require.Equal(t, 2, done(t, ledger, order.Charges))
}
