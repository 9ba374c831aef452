package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bound is how many states a test visits of a scenario at most, by layers: the race detector makes a search fifteen times
// slower. make spec visits them all.
const bound = 3_000

// TestNothingIsLost visits the states that lie nearest to the beginning of every scenario, under its usual faults.
func TestNothingIsLost(t *testing.T) {
	for _, scenario := range scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			res := explore(scenario, allRules(), bound)
			require.Empty(t, res.bad, strings.Join(res.trace, "\n"))
			require.Greater(t, res.states, 500)
		})
	}
}

// TestEveryRuleIsNeeded: without the rule the checker finds the loss, and with it, under the same faults, none near by.
func TestEveryRuleIsNeeded(t *testing.T) {
	require.Len(t, witnesses, len(ruleNames()), "each rule has a scenario that needs it")
	for _, rule := range ruleNames() {
		t.Run(rule, func(t *testing.T) {
			w, known := witnesses[rule]
			require.True(t, known, "no scenario is known that needs this rule")
			res := explore(w.scenario(), allRules().with(rule, false), 1_000_000)
			require.NotEmpty(t, res.bad, "nothing is lost without the rule, in any of %d states", res.states)
			t.Logf("%s: %s, in scenario %s, %d states:\n%s", rule, res.bad, w.name, res.states, strings.Join(res.trace, "\n"))
			if testing.Short() {
				return
			}
			whole := explore(w.scenario(), allRules(), bound)
			require.Empty(t, whole.bad, strings.Join(whole.trace, "\n"))
		})
	}
}

// TestTrace: a violation is told step by step, the shortest way to it, faults marked.
func TestTrace(t *testing.T) {
	var out strings.Builder
	ok, err := run(&out, []string{"-scenario", "task", "-off", "MessageFirst"})
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "    BROKEN: run 0: generation 1 never starts\n"+
		"        API start 1 puts summary and start\n"+
		"      ! FAULT API start 1 dies between its two calls, and its caller never asks again\n"+
		"      = run 0: generation 1, records [0 0], inbox [start] [], blocked 0, due [0 0]; 0 messages left\n")
}

// TestCycle: messages that chase each other for ever are found, though every state has a successor and nothing is broken.
func TestCycle(t *testing.T) {
	x := &search{parent: make([]int32, 5), edges: []edges{{from: []int32{0, 1, 2}, to: []int32{1, 2, 3}}, {from: []int32{3, 1}, to: []int32{2, 4}}}}
	require.Contains(t, []int32{2, 3}, x.cycle())
	x.edges = x.edges[:1]
	require.Equal(t, int32(-1), x.cycle())
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-scenario", "none"}, {"-off", "None"}, {"-nothing"}} {
		_, err := run(&strings.Builder{}, args)
		require.Error(t, err)
	}
}
