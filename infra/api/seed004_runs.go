package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// seedNodeRun is one run of a node as the clients of seed 004 read it. Times are in seconds since
// 1970. Strings that end in Json contain JSON, or are empty.
type seedNodeRun struct {
	ID            string `json:"id"`
	Task          string `json:"taskId"`
	Node          string `json:"nodeKey"`
	Attempt       int    `json:"attemptNo"`
	Status        string `json:"status"`
	PrepJSON      string `json:"prepJson"`
	ExecInputJSON string `json:"execInputJson"`
	ExecOutput    string `json:"execOutputJson"`
	Error         string `json:"errorText"`
	Action        string `json:"action"`
	Started       int64  `json:"startedAt"`
	Finished      int64  `json:"finishedAt"`
	WorkerID      string `json:"workerId"`
	WorkerURL     string `json:"workerUrl"`
}

// seedNodeRuns lists the node runs of a task in the order of their starts. Two sources are joined:
// the rows that the run keeps, and the calls that its log has.
func seedNodeRuns(c *call) error {
	id := c.value("task_id")
	summary, err := c.task(id)
	code := port.CodeOf(err)
	if err != nil && (code == port.NotFound || code == port.Invalid) {
		return c.answerSeed([]seedNodeRun{})
	} else if err != nil {
		return err
	}
	calls, err := c.callsOf(summary)
	if err != nil {
		return err
	}
	rows, err := c.allRows(summary)
	if err != nil {
		return err
	}
	rows = append(rows, unnamed(calls, rows)...)
	slices.SortStableFunc(rows, func(a, b flow.Row) int { return a.Started.Compare(b.Started) })
	runs := make([]seedNodeRun, len(rows))
	for i, row := range rows {
		runs[i] = seedNodeRunOf(row, calls.ByID[row.Call])
		runs[i].ID, runs[i].Task = fmt.Sprintf("%s.%d", id, i+1), id
	}
	return c.answerSeed(runs)
}

// allRows are the rows of a run. The present generation has the newest ones. Those before, which it
// was not given, are in the logs of earlier generations. A run that is blocked, or has not begun, has
// none to give.
func (c *call) allRows(summary *port.Summary) ([]flow.Row, error) {
	rows, err := c.rowsOf(summary.Run, summary.Generation)
	if err != nil {
		return nil, err
	}
	generation := summary.Generation - 1
	for ; generation > 0 && len(rows) > 0 && rows[0].ID > 1; generation-- {
		earlier, err := c.rowsOf(summary.Run, generation)
		if err != nil {
			return nil, err
		}
		first := rows[0].ID
		earlier = slices.DeleteFunc(earlier, func(row flow.Row) bool { return row.ID >= first })
		rows = append(earlier, rows...)
	}
	return rows, nil
}

// rowsOf are the rows that a generation keeps; none if its log is deleted.
func (c *call) rowsOf(run string, generation int) (rows []flow.Row, err error) {
	for more, after := true, 0; more; {
		ask, err := history.Encode(flow.Page{After: after})
		if err != nil {
			return nil, err
		}
		answer, err := c.engine.QueryGeneration(c.r.Context(), run, generation, flow.RowsQuery.Name(), ask)
		code := port.CodeOf(err)
		if err != nil && (code == port.Blocked || code == port.Unavailable || code == port.NotFound) {
			return rows, nil
		} else if err != nil {
			return nil, err
		}
		if err := c.claim(c.claimed + copiesOfAnswer*int64(len(answer))); err != nil {
			return nil, err
		}
		page, err := history.Decode[flow.Rows](answer)
		if err != nil {
			return nil, err
		}
		if rows, more = append(rows, page.Rows...), page.More; len(page.Rows) > 0 {
			after = page.Rows[len(page.Rows)-1].ID
		}
	}
	return rows, nil
}

// callsOf reads the calls of all generations that still have logs.
func (c *call) callsOf(summary *port.Summary) (*flow.LoggedCalls, error) {
	found := &flow.LoggedCalls{}
	for generation := 1; generation <= summary.Generation; generation++ {
		err := c.addCalls(found, summary.Run, generation)
		if err != nil && port.CodeOf(err) != port.NotFound {
			return nil, err
		}
	}
	return found, nil
}

// addCalls reads one generation. The call holds memory for all records so far.
func (c *call) addCalls(found *flow.LoggedCalls, run string, generation int) error {
	for after := 0; ; {
		size, err := c.engine.SizeOfRecords(c.r.Context(), run, generation, after)
		if err != nil {
			return err
		}
		if held := c.claimed + copiesOfAnswer*size; held > freeBytes {
			if err := c.claim(held); err != nil {
				return err
			}
		}
		records, err := c.engine.History(c.r.Context(), run, generation, after)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, record := range records {
			found.Add(record)
		}
		after = records[len(records)-1].Number
	}
}

// unnamed makes rows of the calls that have ended, and that no row names.
func unnamed(calls *flow.LoggedCalls, rows []flow.Row) (more []flow.Row) {
	named := map[string]bool{}
	for _, row := range rows {
		named[row.Call] = true
	}
	for _, made := range calls.All {
		if made.Resolved != nil && !made.Repeated && !named[made.Scheduled.ID] {
			more = append(more, made.Row())
		}
	}
	return more
}

// prepared says which branch of a node, or which node of its subflow, a node run is.
type prepared struct {
	Sub    string `json:"sub,omitempty"`
	Branch string `json:"branch,omitempty"`
}

// seedNodeRunOf shows a row, and its call if it is one. Rows inside a subflow are those of the
// outermost node.
func seedNodeRunOf(row flow.Row, made *flow.LoggedCall) seedNodeRun {
	run := seedNodeRun{Node: row.Node, Attempt: row.Attempt, Status: row.Status,
		Error: row.Error, Action: row.Action,
		Started: row.Started.Unix(), Finished: row.Finished.Unix(),
		ExecInputJSON: inputJSON(row.Input, nil), ExecOutput: string(row.Result)}
	prep := prepared{Branch: row.Branch}
	if len(row.Path) > 0 {
		run.Node = row.Path[0]
		prep.Sub = strings.Join(append(slices.Clone(row.Path[1:]), row.Node), "/")
	}
	text, _ := history.Marshal(prep) // two strings
	run.PrepJSON = string(text)
	if made != nil {
		run.show(made)
	}
	return run
}

// show adds what the log says of a call.
func (r *seedNodeRun) show(made *flow.LoggedCall) {
	r.ExecInputJSON = inputJSON(json.RawMessage(made.Scheduled.Input), nil)
	var sent flow.Call
	if made.HTTP() && json.Unmarshal(made.Scheduled.Input, &sent) == nil {
		r.ExecInputJSON = inputJSON(sent.Input, sent.Params)
	}
	r.WorkerID, r.WorkerURL = made.Worker()
	if made.Resolved == nil || r.Status != flow.RowOK {
		return
	}
	r.ExecOutput = string(made.Resolved.Result)
	if made.HTTP() {
		r.ExecOutput = string(made.Answer().Result)
	}
}

// inputJSON is the input of a node run: that of its service, as its request has it.
func inputJSON(input, params json.RawMessage) string {
	if len(input) == 0 && len(params) == 0 {
		return ""
	}
	text, err := history.Marshal(struct {
		Input  json.RawMessage `json:"input"`
		Params json.RawMessage `json:"params,omitempty"`
	}{input, params})
	if err != nil {
		return ""
	}
	return string(text)
}
