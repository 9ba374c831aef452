package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

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
	for i := range rows {
		if made := calls.byID[rows[i].Call]; made != nil {
			made.named = true
		}
	}
	rows = append(rows, calls.unnamed()...)
	slices.SortStableFunc(rows, func(a, b flow.Row) int { return a.Started.Compare(b.Started) })
	runs := make([]seedNodeRun, len(rows))
	for i, row := range rows {
		runs[i] = seedNodeRunOf(row, calls.byID[row.Call])
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

// loggedCall is a call of a service in a run's log.
type loggedCall struct {
	id        string
	parsed    flow.ParsedCall
	scheduled *history.ScheduleActivity
	begun     time.Time
	resolved  *history.ActivityResolved // nil: it runs
	ended     time.Time
	named     bool // by a row, or by a later call with its id
}

type loggedCalls struct {
	byID  map[string]*loggedCall
	all   []*loggedCall // in the order of the log
	bySeq map[int64]*loggedCall
}

// callsOf reads the calls of all generations that still have logs.
func (c *call) callsOf(summary *port.Summary) (*loggedCalls, error) {
	found := &loggedCalls{byID: map[string]*loggedCall{}, bySeq: map[int64]*loggedCall{}}
	for generation := 1; generation <= summary.Generation; generation++ {
		err := c.addCalls(found, summary.Run, generation)
		if err != nil && port.CodeOf(err) != port.NotFound {
			return nil, err
		}
	}
	return found, nil
}

// addCalls reads one generation. The call holds memory for all records so far.
func (c *call) addCalls(found *loggedCalls, run string, generation int) error {
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
			found.add(record)
		}
		after = records[len(records)-1].Number
	}
}

func (l *loggedCalls) add(record *history.Record) {
	for _, event := range record.Events {
		if answer, is := event.(*history.ActivityResolved); is {
			if made := l.bySeq[answer.Seq]; made != nil {
				made.resolved, made.ended = answer, record.Time
			}
		}
	}
	for _, command := range record.Commands {
		scheduled, is := command.(*history.ScheduleActivity)
		if !is {
			continue
		}
		parsed, is := flow.ParseCall(scheduled.ID)
		if !is {
			delete(l.bySeq, scheduled.Seq())
			continue
		}
		made := &loggedCall{
			id: scheduled.ID, parsed: parsed, scheduled: scheduled, begun: record.Time}
		if before := l.byID[made.id]; before != nil { // a reset has repeated it
			before.named = true
		}
		l.byID[made.id], l.bySeq[scheduled.Seq()] = made, made
		l.all = append(l.all, made)
	}
}

// unnamed makes rows of the calls that have ended, and that no row names.
func (l *loggedCalls) unnamed() (rows []flow.Row) {
	for _, made := range l.all {
		if made.named || made.resolved == nil {
			continue
		}
		row := flow.Row{Node: made.parsed.Node, Path: made.parsed.Path, Branch: made.parsed.Branch,
			Attempt: made.parsed.Attempt, Status: flow.RowOK, Call: made.id,
			Started: made.begun, Finished: made.ended}
		if row.Error = made.failure(); row.Error != "" {
			row.Status = flow.RowError
		}
		rows = append(rows, row)
	}
	return rows
}

// http says whether the call is one of an HTTP worker.
func (l *loggedCall) http() bool { return strings.HasPrefix(l.scheduled.Activity, flow.HTTP) }

// answer is what a worker answered; nothing if the call is not of one, or has not ended.
func (l *loggedCall) answer() (answer flow.Answer) {
	if l.http() && l.resolved != nil {
		_ = json.Unmarshal(l.resolved.Result, &answer) // nothing: the failure says why
	}
	return answer
}

func (l *loggedCall) failure() string {
	if failure := l.resolved.Failure; failure != nil {
		return failure.Error()
	}
	return l.answer().Error
}

// prepared says which branch of a node, or which node of its subflow, a node run is.
type prepared struct {
	Sub    string `json:"sub,omitempty"`
	Branch string `json:"branch,omitempty"`
}

// seedNodeRunOf shows a row, and its call if it is one. Rows inside a subflow are those of the
// outermost node.
func seedNodeRunOf(row flow.Row, made *loggedCall) seedNodeRun {
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
		made.show(&run)
	}
	return run
}

// show adds what the log says of a call.
func (l *loggedCall) show(run *seedNodeRun) {
	run.ExecInputJSON = inputJSON(json.RawMessage(l.scheduled.Input), nil)
	var sent flow.Call
	if l.http() && json.Unmarshal(l.scheduled.Input, &sent) == nil {
		run.ExecInputJSON = inputJSON(sent.Input, sent.Params)
	}
	if l.resolved == nil {
		return
	}
	run.WorkerID, run.ExecOutput = l.resolved.Worker, string(l.resolved.Result)
	if l.http() {
		answer := l.answer()
		run.WorkerID, run.ExecOutput = "", string(answer.Result)
		if n := len(answer.Tries); n > 0 {
			run.WorkerID, run.WorkerURL = answer.Tries[n-1].WorkerID, answer.Tries[n-1].WorkerURL
		}
	}
	if run.Status != flow.RowOK {
		run.ExecOutput = ""
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
