package program

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// mostNodes is how many runs of nodes get shows.
const mostNodes = 50

// nodeRun is an attempt of a call, or a node that has ended or is running.
type nodeRun struct {
	flow.Row
	Worker string `json:"worker,omitempty"`
	// Tries are the HTTP workers that were asked.
	Tries []flow.Try `json:"tries,omitempty"`
}

// running is the status of a node run that has not ended.
const running = "running"

// nodeRuns are those of a flow's run, in the order in which they ended.
type nodeRuns struct {
	Nodes []nodeRun `json:"nodes"`
	// Earlier counts older ones.
	Earlier int `json:"earlierNodes,omitempty"`
	// Incomplete says why only the calls of the log are here.
	Incomplete string `json:"nodesIncomplete,omitempty"`
}

// flowState gives what a flow's run has published. False: the run is not known to be a flow's.
func flowState(run *wire.Summary) (state flow.State, is bool) {
	marks := struct{ Node, Action, Steps, Shared json.RawMessage }{}
	if json.Unmarshal(run.State, &marks) != nil || marks.Node == nil || marks.Action == nil || marks.Steps == nil || marks.Shared == nil {
		return state, false
	}
	return state, json.Unmarshal(run.State, &state) == nil
}

// lookNodes gives the newest runs of a flow's nodes; nil where the run is not a flow's. What the
// run itself cannot tell is taken from its log.
func lookNodes(ctx context.Context, server *client.Client, run *wire.Summary, most int) (*nodeRuns, error) {
	state, is := flowState(run)
	if !is {
		return nil, nil
	}
	found := &nodeRuns{}
	rows, err := answerWithin(ctx, server, run, flow.Page{Last: most})
	if err != nil {
		found.Incomplete = "the run does not answer, and its log knows calls alone: " + root(err).Error()
	}
	logged, err := loggedCalls(ctx, server, run, rows)
	if err != nil {
		return nil, err
	}
	var since time.Time // earlier calls have rows that are not here
	if len(rows) > 0 {
		if found.Earlier = rows[0].ID - 1; found.Earlier > 0 {
			since = rows[0].Finished
		}
	}
	for _, row := range rows {
		node := nodeRun{Row: row}
		if call := logged[row.Call]; call != nil {
			node.Worker, node.Tries = call.Worker, call.Tries
			delete(logged, row.Call)
		}
		node.Input, node.Result = nil, nil
		found.Nodes = append(found.Nodes, node)
	}
	found.add(logged, since, run.Status.Closed())
	found.enter(state, run)
	if over := len(found.Nodes) - most; over > 0 {
		found.Nodes, found.Earlier = found.Nodes[over:], found.Earlier+over
	}
	return found, nil
}

// answerWithin asks a run for a page of its rows, for so long as a replay may take.
func answerWithin(ctx context.Context, server *client.Client, run *wire.Summary, ask flow.Page) ([]flow.Row, error) {
	ctx, stop := context.WithTimeout(ctx, longestReplay)
	defer stop()
	page, err := client.Query(ctx, server, run.Run, flow.RowsQuery, ask)
	return page.Rows, err
}

// add takes the calls that no row names: those that run, and those that ended after a time without
// the flow's taking note. A call that runs when the run ends is given up.
func (n *nodeRuns) add(calls map[string]*nodeRun, since time.Time, closed bool) {
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		call := calls[id]
		if call.Status == running && closed {
			call.Status = flow.RowCanceled
		}
		if call.Finished.IsZero() || call.Finished.After(since) {
			n.Nodes = append(n.Nodes, *call)
		}
	}
	slices.SortStableFunc(n.Nodes, func(a, b nodeRun) int {
		if a.Finished.IsZero() || b.Finished.IsZero() {
			return b.Finished.Compare(a.Finished) // what runs comes last
		}
		return a.Finished.Compare(b.Finished)
	})
}

// enter adds the node where the run is, unless one of its calls shows it.
func (n *nodeRuns) enter(state flow.State, run *wire.Summary) {
	if run.Status.Closed() || state.Node == "" {
		return
	}
	at := flow.Row{Node: state.Node, Path: state.Path, Status: running}
	for _, node := range n.Nodes {
		if node.Status == running && node.Node == at.Node && slices.Equal(node.Path, at.Path) {
			return
		}
	}
	n.Nodes = append(n.Nodes, nodeRun{Row: at})
}

// loggedCalls reads the calls of the current generation's log, and of the one before it where rows
// name a call that is not there.
func loggedCalls(ctx context.Context, server *client.Client, run *wire.Summary, rows []flow.Row) (map[string]*nodeRun, error) {
	calls, err := callsOf(ctx, server, run.Run, run.Generation)
	missing := slices.ContainsFunc(rows, func(row flow.Row) bool { return row.Call != "" && calls[row.Call] == nil })
	if err != nil || run.Generation == 1 || !missing {
		return calls, err
	}
	before, err := callsOf(ctx, server, run.Run, run.Generation-1)
	if client.CodeOf(err) != "" { // it is deleted: its workers are not known
		return calls, nil
	}
	for _, row := range rows {
		if call := before[row.Call]; call != nil && calls[row.Call] == nil {
			calls[row.Call] = call
		}
	}
	return calls, err
}

// callsOf reads the calls of one generation's log, by the ids of their activities.
func callsOf(ctx context.Context, server *client.Client, run string, generation int) (map[string]*nodeRun, error) {
	logged := &flow.LoggedCalls{}
	for after := 0; ; {
		page, err := server.History(ctx, run, generation, after)
		if err != nil {
			return nil, err
		}
		for _, text := range page.Records {
			record, err := history.DecodeRecord(text)
			if err != nil {
				return nil, fmt.Errorf("generation %d of run %q: %w", generation, run, err)
			}
			logged.Add(record)
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	calls := map[string]*nodeRun{}
	for id, call := range logged.ByID { // order-insensitive: each on its own
		node := &nodeRun{Row: call.Row(), Tries: call.Answer().Tries}
		node.Worker, _ = call.Worker()
		if node.Status == "" {
			node.Status = running
		}
		calls[id] = node
	}
	return calls, nil
}

// write writes the node runs as a table.
func (n *nodeRuns) write(w io.Writer) {
	rows := [][]string{{"NODE", "ATTEMPT", "STATUS", "ACTION", "STARTED", "TOOK", "WORKER", "ERROR"}}
	for _, node := range n.Nodes {
		rows = append(rows, node.cells())
	}
	fmt.Fprintln(w)
	for _, line := range align(rows) {
		fmt.Fprintln(w, line)
	}
	if n.Earlier > 0 {
		fmt.Fprintf(w, "%s before these\n", count(n.Earlier, "node run"))
	}
	if n.Incomplete != "" {
		fmt.Fprintln(w, n.Incomplete)
	}
}

func (n nodeRun) cells() []string {
	attempt, started, took := "", "", ""
	if n.Attempt > 0 {
		attempt = fmt.Sprint(n.Attempt)
	}
	if !n.Started.IsZero() {
		started = clock(n.Started)
	}
	if !n.Finished.IsZero() {
		took = after(n.Started, n.Finished)
	}
	return []string{shorten(nodeName(n.Path, n.Node, n.Branch), widest), attempt, n.Status, shorten(n.Action, widest), started, took, shorten(n.Worker, widest), shorten(n.Error, widest)}
}

// showNodes says which nodes have ended, and where the run is now.
func (s *progress) showNodes(ctx context.Context, run *wire.Summary) {
	state, is := flowState(run)
	if !s.nodes || !is {
		return
	}
	for more := true; more; {
		page, err := client.Query(ctx, s.server, s.run, flow.RowsQuery, flow.Page{After: s.lastRow})
		if err != nil { // it is asked again, or its summary says why it does not answer
			return
		}
		for _, row := range page.Rows {
			s.lastRow = row.ID
			s.say("  +%-6s %s", after(run.Started, row.Finished), describeRow(row))
		}
		more = page.More
	}
	at := nodeName(state.Path, state.Node, "")
	if state.Node == "" || run.Status.Closed() || at == s.at {
		return
	}
	s.at = at
	text := "at " + at
	if state.WaitsFor != "" {
		text += ", waits for " + state.WaitsFor
	}
	s.say("  +%-6s %s", s.ago(run.Started), shorten(text, 2*widest))
}

// describeRow is a node run on one line.
func describeRow(row flow.Row) string {
	text := nodeName(row.Path, row.Node, row.Branch) + " " + row.Status
	if row.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", row.Attempt)
	}
	if row.Action != "" {
		text += ", action " + row.Action
	}
	if row.Error != "" {
		text += ": " + row.Error
	}
	return shorten(text, 2*widest)
}

// nodeName is a node with the subflows around it, and the branch of a call.
func nodeName(path []string, node, branch string) string {
	name := strings.Join(append(slices.Clone(path), node), "/")
	if branch != "" {
		name += "[" + branch + "]"
	}
	return name
}
