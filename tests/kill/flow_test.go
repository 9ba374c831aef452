//go:build kill

package kill

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/tests/process"
)

// everyKind is a flow with a node of each kind.
//
//go:embed testdata/every.json
var everyKind string

const (
	everyName   = "every"
	everyResult = `{"charged":12,"both":[24,-12],"sub":{"total":12},"each":[2,4,6],"ready":{"n":1},"got":{"n":1},"approved":true,"hand":"12 cents"}`
	// longestStep is how long one step of a run may take.
	longestStep = time.Minute
	poll        = 10 * time.Millisecond
)

// flows are runs of everyKind on a server that is killed, with workers that are not.
type flows struct {
	*testing.T
	server  *process.Server
	callers *callers
	crew    *crew
	doomed  *doomed
	// undisturbed are the node runs of a run on a server that is not killed.
	undisturbed []nodeRun
}

// nodeRun is what GET /tasks/runs says of a node run, without ids and times.
type nodeRun struct {
	NodeKey                                                            string
	AttemptNo                                                          int
	Status, PrepJSON, ExecInputJSON, ExecOutputJSON, ErrorText, Action string
}

// startFlows starts a server, publishes the flow, and runs it once undisturbed by kills. Its last
// call goes to a worker that dies then, and another worker takes over.
func startFlows(t *testing.T) *flows {
	t.Helper()
	server := process.New(t, process.Build(t))
	f := &flows{T: t, server: server, callers: newCallers(server.Client())}
	server.Start()
	server.Await(t.Context(), f.callers.client)
	f.doomed = serveDoomed(t, server, f.callers.client)
	f.crew = serveCrew(t, server)
	require.Eventually(t, func() bool {
		found, err := f.callers.client.Workers(t.Context(), "hand", true)
		return err == nil && len(found) == 2
	}, longestStep, poll)
	_, err := f.callers.client.Publish(t.Context(), wire.PublishBody{Name: everyName, Kind: frontend.Flow, Source: everyKind})
	require.NoError(t, err)

	const run = "undisturbed"
	died := make(chan struct{})
	go func() {
		f.doomed.diesWhenCalled()
		close(died)
	}()
	require.NoError(t, f.follow(t.Context(), run, shortDelay, func(string) {}))
	<-died
	f.undisturbed = f.nodeRuns(run)
	require.Len(t, f.undisturbed, 16)
	f.check(run)
	f.shows(run)
	return f
}

// shows has the command line show which workers were asked: that which died, then the one that took
// over.
func (f *flows) shows(run string) {
	f.Helper()
	command := exec.CommandContext(f.Context(), f.server.Command[0], "get", run, "--address", f.server.Address, "--output", "json")
	out, err := command.Output()
	require.NoError(f, err)
	var shown struct {
		Nodes []struct {
			Node  string
			Tries []flow.Try
		}
	}
	require.NoError(f, json.Unmarshal(out, &shown))
	last := shown.Nodes[len(shown.Nodes)-1]
	require.Equal(f, "hand", last.Node)
	require.Len(f, last.Tries, 2)
	require.Equal(f, f.doomed.url, last.Tries[0].WorkerURL)
	require.NotEmpty(f, last.Tries[0].Error)
	require.Empty(f, last.Tries[1].Error)
}

// How long the timers of the flow take, in milliseconds.
const (
	shortDelay = 50
	longDelay  = 2000
)

// follow is what the caller of one run does: each call is repeated until it has an answer. at hears
// of each node where the run waits for a signal, and of the key of each signal that was accepted.
func (f *flows) follow(ctx context.Context, run string, delay int, at func(place string)) error {
	err := f.callers.call(ctx, func(ctx context.Context) error {
		input := fmt.Sprintf(`{"run":%q,"cents":12,"list":[1,2,3],"delay_ms":%d}`, run, delay)
		_, err := f.callers.client.Start(ctx, engine.StartRequest{Run: run, Workflow: everyName, Input: history.Payload(input)})
		return err
	})
	for _, step := range []struct{ node, key, value string }{{"wait", "ready", `{"n":1}`}, {"ask", "approved", "true"}} {
		if err == nil {
			err = f.await(ctx, run, step.node)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", run, err)
		}
		at(step.node)
		err = f.callers.call(ctx, func(ctx context.Context) error {
			message := fmt.Sprintf(`{"key":%q,"value":%s}`, step.key, step.value)
			_, err := f.callers.client.Signal(ctx, engine.MessageRequest{Run: run, ID: run + step.key}, flow.Set.Name(), history.Payload(message))
			return err
		})
		if err == nil {
			at(step.key)
		}
	}
	if err == nil {
		err = f.await(ctx, run, "")
	}
	return err
}

// await waits until a run is at a node; with "", until it has ended.
func (f *flows) await(ctx context.Context, run, node string) error {
	ctx, cancel := context.WithTimeout(ctx, longestStep)
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, poll) {
		var at flow.State
		var summary *wire.Summary
		err := f.callers.call(ctx, func(ctx context.Context) (err error) {
			summary, err = f.callers.client.Get(ctx, run)
			return err
		})
		if client.CodeOf(err) == port.NotFound { // it has not begun
			continue
		}
		if err == nil && len(summary.State) > 0 {
			err = json.Unmarshal(summary.State, &at)
		}
		if err != nil {
			return err
		}
		if node == "" && summary.Status.Closed() || node != "" && slices.Contains(append(at.Path, at.Node), node) {
			return nil
		}
		if summary.Status.Closed() || summary.Blocked != nil {
			shown, _ := json.Marshal(summary)
			return fmt.Errorf("run %s did not come to node %q: %s", run, node, shown)
		}
	}
	return fmt.Errorf("run %s did not come to node %q in time", run, node)
}

// kill kills the server, and starts it again.
func (f *flows) kill() {
	f.Helper()
	f.server.Kill()
	f.crew.killed()
	f.server.Start()
}

// nodeRuns are those of a run, in the order in which they began.
func (f *flows) nodeRuns(run string) (runs []nodeRun) {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, "http://"+f.server.Address+"/tasks/runs?task_id="+run, http.NoBody)
	require.NoError(f, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(f, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(f, err)
	text = bytes.ReplaceAll(text, []byte(run), []byte("RUN"))
	text = bytes.ReplaceAll(text, fmt.Append(nil, longDelay), fmt.Append(nil, shortDelay))
	require.NoError(f, json.Unmarshal(text, &runs), "%s", text)
	return runs
}

// check holds a run that has ended against the undisturbed one, and against the calls of its services.
func (f *flows) check(run string) (repeated int) {
	f.Helper()
	summary, err := f.callers.client.Get(f.Context(), run)
	require.NoError(f, err)
	require.Equal(f, history.Completed, summary.Status, "%s: %v", run, summary.Failure)
	require.JSONEq(f, everyResult, string(summary.Result), run)
	var state flow.State
	require.NoError(f, json.Unmarshal(summary.State, &state))
	shared, err := history.Marshal(state.Shared)
	require.NoError(f, err)
	require.JSONEq(f, everyResult, string(shared), run)
	require.ElementsMatch(f, f.undisturbed, f.nodeRuns(run), run)
	var exported bytes.Buffer
	require.NoError(f, f.callers.client.Export(f.Context(), run, 1, &exported))
	workflowtest.Replay(f.T, exported.Bytes(), flow.MustWorkflow(everyName, []byte(everyKind)))
	return f.account(run)
}

// account holds the calls that a worker got against the log. A call comes again only if the server
// was killed meanwhile, and never once its answer is in the log.
func (f *flows) account(run string) (repeated int) {
	f.Helper()
	answered := f.answered(run)
	calls := f.crew.of(run)
	require.Len(f, calls, len(answered), "%s: each call in the log, and no other", run)
	for key, begun := range calls {
		require.Contains(f, answered, key, run)
		for i := range len(begun) - 1 {
			require.True(f, f.crew.killedBetween(begun[i], begun[i+1]), "call %s came at %s, and no kill was between: %s", key, begun, f.crew.kills)
		}
		require.True(f, begun[len(begun)-1].Before(answered[key]), "call %s came at %s, after its answer was stored at %s, kills %s", key, begun, answered[key], f.crew.kills)
		repeated += len(begun) - 1
	}
	return repeated
}

// answered are the times at which the log took the answers of calls, by their idempotency keys.
func (f *flows) answered(run string) map[string]time.Time {
	f.Helper()
	l, times := newLog(), map[string]time.Time{}
	for text, err := range f.callers.client.Records(f.Context(), run, 1) {
		require.NoError(f, err, run)
		record, err := history.DecodeRecord(text)
		require.NoError(f, err, run)
		l.add(record)
		for _, event := range record.Events {
			if resolved, is := event.(*history.ActivityResolved); is {
				times[fmt.Sprintf("%s/1/%d", run, resolved.Seq)] = record.Time
			}
		}
	}
	require.Empty(f, l.problems(), run)
	return times
}

// moment is when the server is killed: in the nth call of a service, or right after its answer; at
// a place that follow tells; or while a timer runs.
type moment struct {
	name    string
	service string
	nth     int
	holds   bool
	at      string
	timer   string
}

var moments = []moment{
	{name: "executor: in its first attempt", service: "charge", nth: 1, holds: true},
	{name: "executor: between its attempts", service: "charge", nth: 1},
	{name: "executor: in its second attempt", service: "charge", nth: 2, holds: true},
	{name: "choice: right after the answer before it", service: "charge", nth: 2},
	{name: "parallel: in its first call", service: "double", nth: 1, holds: true},
	{name: "parallel: in its second call", service: "negate", nth: 1, holds: true},
	{name: "subflow: in a call inside", service: "total", nth: 1, holds: true},
	{name: "subflow: right after the answer inside", service: "total", nth: 1},
	{name: "subflow: while a timer inside runs", timer: "rest"},
	{name: "timer", timer: "pause"},
	{name: "foreach: in its second call", service: "double", nth: 3, holds: true},
	{name: "foreach: right after its last answer", service: "double", nth: 4},
	{name: "wait_event", at: "wait"},
	{name: "wait_event: once its signal is accepted", at: "ready"},
	{name: "approval", at: "ask"},
	{name: "approval: once it is accepted", at: "approved"},
	{name: "executor whose first worker is dead: in its call", service: "hand", nth: 1, holds: true},
	{name: "the end: right after the last answer", service: "hand", nth: 1},
}

func TestAFlowSurvivesAKillAtEachNode(t *testing.T) {
	f := startFlows(t)
	began := time.Now()
	for i, m := range moments {
		run := fmt.Sprintf("flow-%02d", i)
		f.disturb(run, m)
		repeated := f.check(run)
		if m.holds {
			require.Positive(t, repeated, "%s: the call that was running was made again", m.name)
		}
		t.Logf("killed at %-52s calls repeated: %d", m.name+":", repeated)
	}
	t.Logf("%d kills and %d starts of the server in %s", len(f.crew.kills), f.server.Starts, time.Since(began).Round(time.Millisecond))
}

// disturb runs the flow once and kills the server at the moment.
func (f *flows) disturb(run string, m moment) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), longestStep)
	defer cancel()
	stopped := &gate{run: run, service: m.service, nth: m.nth, holds: m.holds, reached: make(chan struct{}), opened: make(chan struct{})}
	f.crew.mu.Lock()
	f.crew.gate = stopped
	f.crew.mu.Unlock()
	ended, delay := make(chan error, 1), shortDelay
	if m.timer != "" {
		delay = longDelay
		go func() {
			if f.await(ctx, run, m.timer) == nil {
				close(stopped.reached)
			}
		}()
	}
	go func() {
		ended <- f.follow(ctx, run, delay, func(place string) {
			if place == m.at {
				close(stopped.reached)
				<-stopped.opened
			}
		})
	}()
	select {
	case <-stopped.reached:
	case err := <-ended:
		f.Fatalf("the run did not come to %s: %v", m.name, err)
	}
	f.kill()
	close(stopped.opened)
	require.NoError(f, <-ended)
}

// TestFlowsSurviveKillsAtRandomMoments has many runs at a time.
func TestFlowsSurviveKillsAtRandomMoments(t *testing.T) {
	seed := number(t, "KILL_SEED", uint64(time.Now().UnixNano())%1_000_000)
	runs, rounds := int(number(t, "KILL_FLOWS", 60)), int(number(t, "KILL_ROUNDS", 20))
	t.Logf("KILL_SEED=%d KILL_FLOWS=%d KILL_ROUNDS=%d", seed, runs, rounds)
	random := rand.New(rand.NewPCG(seed, 0))
	f := startFlows(t)
	f.crew.random = rand.New(rand.NewPCG(seed, 1))
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	began := time.Now()
	var all sync.WaitGroup
	errs := make([]error, runs)
	for round := range rounds {
		for i := runs * round / rounds; i < runs*(round+1)/rounds; i++ {
			all.Go(func() { errs[i] = f.follow(ctx, fmt.Sprintf("flow-%03d", i), shortDelay, func(string) {}) })
		}
		if random.IntN(5) > 0 {
			f.server.Await(ctx, f.callers.client)
		}
		f.server.Live(time.Duration(random.Int64N(int64(600 * time.Millisecond))))
		f.kill()
	}
	f.server.Await(ctx, f.callers.client)
	all.Wait()
	repeated := 0
	for i, err := range errs {
		require.NoError(t, err)
		repeated += f.check(fmt.Sprintf("flow-%03d", i))
	}
	t.Logf("%d flows of %d node runs, %d kills, %d calls of services, %d of them repeated, all ended and checked after %s", runs, len(f.undisturbed),
		rounds, len(f.crew.calls), repeated, time.Since(began).Round(time.Millisecond))
}
