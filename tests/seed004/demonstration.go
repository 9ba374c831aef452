package seed004

import (
	"time"

	"github.com/stretchr/testify/require"
)

// The flows of the demonstration of seed 004 (S4.35).
const (
	Branching = `{"start":"route","nodes":{
		"route":{"kind":"executor","service":"route","post":{"action_key":"action"}},
		"b":{"kind":"executor","service":"transform","params":{"mul":10},"prep":{"input_key":"$params.n"},"post":{"output_key":"out","action_static":"done"}},
		"c":{"kind":"executor","service":"sum","prep":{"input_key":"$params.list"},"post":{"output_key":"out"}}},
		"edges":[{"from":"route","action":"goB","to":"b"},{"from":"route","action":"goC","to":"c"}]}`
	Fanning = `{"start":"both","nodes":{
		"both":{"kind":"parallel","parallel_services":["sum","transform"],"parallel_mode":"concurrent","failure_strategy":"ignore_errors","prep":{"input_key":"$params.list"},"post":{"output_key":"both","action_static":"go"}},
		"each":{"kind":"foreach","service":"transform","params":{"mul":2},"prep":{"input_key":"$params.list"},"post":{"output_key":"each"}}},
		"edges":[{"from":"both","action":"go","to":"each"}]}`
	Nested = `{"start":"sub","nodes":{
		"sub":{"kind":"subflow","prep":{"input_key":"$params.list"},"subflow":{"start":"s","nodes":{
			"s":{"kind":"executor","service":"sum","prep":{"input_key":"$input"},"post":{"output_key":"s"}}}},"post":{"output_key":"sub","action_static":"go"}},
		"big":{"kind":"choice","choice_cases":[{"action":"big","expr":{"gt":["$shared.sub.s",5]}}],"default_action":"small"}},
		"edges":[{"from":"sub","action":"go","to":"big"}]}`
	Waiting = `{"start":"pause","nodes":{
		"pause":{"kind":"timer","params":{"delay_ms":20},"post":{"action_static":"go"}},
		"wait":{"kind":"wait_event","params":{"signal_key":"$shared.ready"},"post":{"output_key":"got","action_static":"go"}},
		"next":{"kind":"wait_event","params":{"signal_key":"$shared.early"}}},
		"edges":[{"from":"pause","action":"go","to":"wait"},{"from":"wait","action":"go","to":"next"}]}`
	Asking = `{"start":"ask","nodes":{"ask":{"kind":"approval","params":{"approval_key":"$shared.ok"}},
		"no":{"kind":"choice","default_action":"no"}},"edges":[{"from":"ask","action":"rejected","to":"no"}]}`
)

// Demonstrate plays the demonstration: five flows, six tasks and three signals. A worker with the
// id w1 serves it. Between its steps it calls restart.
func (c *Client) Demonstrate(restart func()) {
	c.Helper()
	flows := map[string]string{}
	for name, definition := range map[string]string{"branching": Branching, "fanning": Fanning,
		"nested": Nested, "waiting": Waiting, "asking": Asking} {
		flows[name] = c.Flow(name, definition)
	}
	restart()
	b := c.Start(flows["branching"], `{"action": "goB", "n": 3}`)
	other := c.Start(flows["branching"], `{"action":"goC","list":[1,2,3]}`)
	fan := c.Start(flows["fanning"], `{"list":[1,2]}`)
	sub := c.Start(flows["nested"], `{"list":[3,4]}`)
	wait := c.Start(flows["waiting"], "no JSON")
	ask := c.Start(flows["asking"], "")
	c.At(wait, "wait")
	c.At(ask, "ask")
	restart()
	c.Signal(wait, "early", `{"n": 1}`)
	require.Equal(c, `{"early":{"n":1}}`, c.Get(wait).SharedJSON,
		"a signal is visible once it is answered")
	c.At(wait, "wait")
	c.Signal(wait, "ready", `"yes"`)
	c.Signal(ask, "ok", "false")
	for id, expected := range map[string][]any{
		b:     {"completed", `{"action":"goB","n":3}`, `{"out":30}`, "", "done", 2},
		other: {"completed", `{"action":"goC","list":[1,2,3]}`, `{"out":6}`, "", "", 2},
		fan:   {"completed", `{"list":[1,2]}`, `{"both":[3,null],"each":[2,4]}`, "", "", 2},
		sub:   {"completed", `{"list":[3,4]}`, `{"sub":{"s":7}}`, "", "big", 3},
		wait:  {"completed", "{}", `{"early":{"n":1},"got":"yes","ready":"yes"}`, "", "", 3},
		ask:   {"completed", "{}", `{"ok":false}`, "", "no", 2},
	} {
		task := c.Poll(id)
		require.Equal(c, expected, []any{task.Status, task.ParamsJSON, task.SharedJSON,
			task.CurrentNodeKey, task.LastAction, task.StepCount})
		require.Equal(c, []any{"{}", "", int64(0), ""}, []any{task.RetryStateJSON, task.LeaseOwner,
			task.LeaseExpiry, task.RequestID})
		require.InDelta(c, time.Now().Unix(), task.CreatedAt, c.Patience.Seconds())
		require.GreaterOrEqual(c, task.UpdatedAt, task.CreatedAt)
	}
	restart()
	require.Equal(c, []string{"route 1 ok goB {} w1", "b 1 ok done {} w1"}, c.ShortRuns(b))
	require.ElementsMatch(c, []string{`both 1 ok  {"branch":"sum"} w1`,
		`both 1 error  {"branch":"transform"} w1 bad input`, "both 1 ok go {}",
		`each 1 ok  {"branch":"0"} w1`, `each 1 ok  {"branch":"1"} w1`, "each 1 ok  {}"},
		c.ShortRuns(fan))
	require.Equal(c, []string{`sub 1 ok  {"sub":"s"} w1`, "big 1 ok big {}"}, c.ShortRuns(sub))
	require.Equal(c, []string{"pause 1 ok go {}", "wait 1 ok go {}", "next 1 ok  {}"},
		c.ShortRuns(wait))
	require.Equal(c, []string{"ask 1 ok rejected {}", "no 1 ok no {}"}, c.ShortRuns(ask))
}
