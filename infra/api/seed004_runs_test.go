package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/wire"
)

// run reads a run as /v1 shows it.
func (s *seedSystem) run(id string) (run wire.Summary) {
	s.Helper()
	status, text := s.Send("GET", "/v1/runs/"+id, "")
	require.Equal(s, 200, status, text)
	require.NoError(s, json.Unmarshal([]byte(text), &run))
	return run
}

// S4.18: a task that is blocked still shows the calls of its log, in every generation. It continues
// once it is reset to a version that fits.
func TestSeedNodeRunsOfABlockedTask(t *testing.T) {
	s := startSeed(t)
	s.Worker("w1", "")
	const version = `{"start":"first","nodes":{
		"first":{"service":"sum","prep":{"input_key":"$params.list"},"post":{"output_key":"n","action_static":"ok"}},
		"ask":{"kind":"approval","params":{"approval_key":"$shared.ok"}},
		"last":{"service":"%s","prep":{"input_key":"n"}}},
		"edges":[{"from":"first","action":"ok","to":"%s"},{"from":"ask","action":"approved","to":"last"}]}`
	flow := s.Flow("blocked", fmt.Sprintf(version, "transform", "ask"))
	publish := func(n int, definition string) {
		s.ID("/flows/version", fmt.Sprintf(`{"DefinitionJSON":%q,"FlowID":%q,"Status":"published","Version":%d}`, definition, flow, n))
	}
	publish(2, `{"start":"other","nodes":{"other":{"service":"transform","prep":{"input_key":"$params.list"}}}}`)
	publish(3, fmt.Sprintf(version, "route", "ask"))
	task := s.Start(flow, `{"list":[1,2]}`) // the version with the highest number
	s.At(task, "ask")
	require.Equal(t, flow+".3", s.Get(task).FlowVersionID)
	reset := func(body string) {
		status, text := s.Send("POST", "/v1/runs/"+task+"/reset", body)
		require.Equal(t, 202, status, text)
	}
	reset(`{"record":2,"definition":2}`)
	require.Eventually(t, func() bool { return s.run(task).Blocked != nil }, 10*time.Second, s.Pace)
	shown := s.Get(task)
	require.Equal(t, []any{"running", flow + ".2", `{"list":[1,2]}`}, []any{shown.Status, shown.FlowVersionID, shown.ParamsJSON})
	require.Equal(t, []string{"first 1 ok  {} w1"}, s.ShortRuns(task), "its log has the call, and not the action")
	reset(`{"generation":1,"record":2,"definition":1}`)
	require.Eventually(t, func() bool { return s.run(task).Blocked == nil }, 10*time.Second, s.Pace)
	s.At(task, "ask")
	require.Equal(t, []string{"first 1 ok ok {} w1"}, s.ShortRuns(task))
	s.Signal(task, "ok", "true")
	ended := s.Poll(task)
	require.Equal(t, []any{"completed", flow + ".1"}, []any{ended.Status, ended.FlowVersionID})
	require.Equal(t, []string{"first 1 ok ok {} w1", "ask 1 ok approved {}", "last 1 ok  {} w1"}, s.ShortRuns(task))
}

// S4.18: a task that has continued as new shows the node runs of all its generations, in order.
func TestSeedNodeRunsOfAllGenerations(t *testing.T) {
	s := startSeed(t)
	url, _ := s.Worker("w1", "")
	s.Beat("w1", url)
	const calls = 5100
	task := s.Start(s.Flow("long", `{"start":"first","nodes":{
		"first":{"kind":"choice","default_action":"each"},
		"each":{"kind":"foreach","service":"transform","parallel_mode":"concurrent","max_parallel":50,
			"prep":{"input_key":"$params.list"},"params":{"mul":2},"post":{"action_static":"ok"}},
		"last":{"kind":"choice","default_action":"end"}},
		"edges":[{"from":"first","action":"each","to":"each"},{"from":"each","action":"ok","to":"last"}]}`),
		`{"list":[`+strings.TrimSuffix(strings.Repeat("100,", calls), ",")+`]}`)
	s.Pace = 100 * time.Millisecond
	require.Equal(t, "completed", s.Poll(task).Status)
	require.Greater(t, s.run(task).Generation, 1)
	runs := s.ShortRuns(task)
	require.Equal(t, calls+3, len(runs)) //nolint:testifylint // it would print all of them
	require.Equal(t, "first 1 ok each {}", runs[0], "its row is older than those that a generation is given")
	require.Equal(t, "last 1 ok end {}", runs[calls+2])
	require.Contains(t, runs, "each 1 ok ok {}")
	for _, run := range runs[1 : calls+2] {
		require.Regexp(t, `^each 1 ok (ok \{\}|\ {"branch":"[0-9]+"} w1)$`, run)
	}
}
