//go:build kill

package kill

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/tests/process"
	"github.com/reprise-run/reprise/workflows/order"
)

// longest is how long everything may take.
const longest = 10 * time.Minute

func TestNothingIsLostWhenTheServerIsKilled(t *testing.T) {
	seed := number(t, "KILL_SEED", uint64(time.Now().UnixNano())%1_000_000)
	runs, rounds := int(number(t, "KILL_RUNS", 1000)), int(number(t, "KILL_ROUNDS", 20))
	t.Logf("KILL_SEED=%d KILL_RUNS=%d KILL_ROUNDS=%d", seed, runs, rounds)
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	random := rand.New(rand.NewPCG(seed, 0))
	plans := make([]*plan, runs)
	for i := range plans {
		plans[i] = newPlan(random, i)
	}
	random.Shuffle(runs, func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })

	s := process.New(t, process.Build(t))
	c := newCallers(s.Client())
	began := time.Now()
	frozen := disturb(ctx, t, random, s, c, plans, rounds)
	disturbed := time.Since(began)
	c.wait.Wait()
	require.Empty(t, c.errs, "server:\n%s", s.Last)

	ledger, err := order.OpenLedger(filepath.Join(s.Data, "orders"), "")
	require.NoError(t, err)
	defer ledger.Close()
	a := newAccount(t, c, ledger)
	a.collect(ctx, plans)
	settled := time.Since(began)
	a.check(plans)
	s.Stop()
	s.Start() // what was read is still there when it was stopped in good order
	s.Await(ctx, c.client)
	a.recount(ctx, len(plans))

	t.Logf("%d orders, %d kills, %d starts of the server, %d times frozen, %d calls repeated", runs, rounds, s.Starts, frozen, c.repeated.Load())
	t.Logf("%s", a.statistics)
	t.Logf("disturbed for %s, all orders ended after %s, all checked after %s", disturbed.Round(time.Millisecond),
		settled.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		t.Logf("repeat with KILL_SEED=%d; the server's last words:\n%s", seed, s.Last)
	}
}

// disturb lets a part of the callers begin in each round, and kills the server at some moment of it: often under load, now
// and then while it is still starting. Every seventh round it is frozen first.
func disturb(ctx context.Context, t *testing.T, random *rand.Rand, s *process.Server, c *callers, plans []*plan, rounds int) (frozen int) {
	t.Helper()
	s.Start()
	s.Await(ctx, c.client)
	for round := range rounds {
		for _, p := range plans[len(plans)*round/rounds : len(plans)*(round+1)/rounds] {
			c.begin(ctx, p)
		}
		if round%7 == 3 {
			s.Live(time.Duration(random.Int64N(int64(500 * time.Millisecond))))
			s.Freeze(500*time.Millisecond + time.Duration(random.Int64N(int64(time.Second))))
			frozen++
		}
		early := random.IntN(5) == 0
		if !early {
			s.Await(ctx, c.client)
		}
		s.Live(time.Duration(random.Int64N(int64(800 * time.Millisecond))))
		s.Kill()
		s.Start()
		require.NoError(t, ctx.Err())
	}
	s.Await(ctx, c.client)
	return frozen
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}
