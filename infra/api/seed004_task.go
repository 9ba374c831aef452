package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// seedTask is a run of a flow as the clients of seed 004 read it. Times are in seconds since 1970.
type seedTask struct {
	ID             string
	FlowVersionID  string
	Status         string
	ParamsJSON     string
	SharedJSON     string
	CurrentNodeKey string
	LastAction     string
	StepCount      int
	RetryStateJSON string
	LeaseOwner     string
	LeaseExpiry    int64
	RequestID      string
	CreatedAt      int64
	UpdatedAt      int64
}

// Statuses of tasks (S4.5).
const (
	taskPending   = "pending"
	taskRunning   = "running"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCanceling = "canceling"
	taskCanceled  = "canceled"
)

var taskStatuses = []string{taskPending, taskRunning, taskCompleted, taskFailed, taskCanceling,
	taskCanceled}

// carriedKey is the member of an input that a flow continues with.
const carriedKey = "_rt"

// patienceForSignal is how long an answer waits for the run to take a signal.
const patienceForSignal = 10 * time.Second

func seedStartTask(c *call) error {
	var body struct{ FlowID, ParamsJSON string }
	if err := c.readSeed(&body); err != nil {
		return err
	}
	if body.FlowID == "" {
		return missing("FlowID")
	}
	params, err := taskParams(body.ParamsJSON)
	if err != nil {
		return err
	}
	latest, err := c.latestFlow(body.FlowID)
	if err != nil {
		return err
	}
	summary, _, err := c.engine.Start(c.r.Context(),
		engine.StartRequest{Workflow: latest.Name, Definition: latest.Version, Input: params})
	if err != nil {
		return err
	}
	return c.answerSeed(map[string]string{"id": summary.Run})
}

// taskParams are the params of a task. Any other text than an object counts as an empty one.
func taskParams(text string) (history.Payload, error) {
	var params map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text), &params) // else it is nil
	if params == nil {
		return history.Payload("{}"), nil
	}
	if _, has := params[carriedKey]; has {
		return nil, invalid(fmt.Sprintf(
			"the params contain the key %q, which belongs to the engine: use another name",
			carriedKey))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

func seedGetTask(c *call) error {
	summary, err := c.task(c.value("id"))
	if err != nil {
		return err
	}
	run := seenRunOf(summary)
	return c.answerSeed(c.taskOf(run, c.taskStatus(summary), true))
}

// task finds a run of a flow.
func (c *call) task(id string) (*port.Summary, error) {
	if id == "" {
		return nil, missing("the id of the task")
	}
	summary, err := c.engine.Get(c.r.Context(), id)
	if err != nil {
		return nil, err
	}
	if !c.isTask(summary, map[string]bool{}) {
		return nil, port.Errorf(port.NotFound, "the run %q is not a run of a published flow", id)
	}
	return summary, nil
}

// isTask says whether a run is one of a published flow. known are the versions that the request has
// read: whether each is a flow.
func (c *call) isTask(summary *port.Summary, known map[string]bool) bool {
	if summary.Definition == 0 {
		return false
	}
	id := versionID(summary.Workflow, summary.Definition)
	is, read := known[id]
	if !read {
		version, err := c.engine.Version(c.r.Context(), summary.Workflow, summary.Definition)
		is = err == nil && version.Kind == flowKind
		known[id] = is
	}
	return is
}

// seenRun is a run with the state that it has published.
type seenRun struct {
	*port.Summary
	state flow.State
}

func seenRunOf(summary *port.Summary) seenRun {
	run := seenRun{Summary: summary}
	if len(summary.State) > 0 {
		_ = json.Unmarshal(summary.State, &run.state) // what cannot be read is shown as nothing
	}
	return run
}

// updatedAt is when the run was seen to change last.
func (r seenRun) updatedAt() time.Time {
	switch {
	case !r.Closed.IsZero():
		return r.Closed
	case r.state.Changed.After(r.Started):
		return r.state.Changed
	}
	return r.Started
}

// taskOf shows a run. whole: the members of the shared state that the run did not publish are asked
// for.
func (c *call) taskOf(run seenRun, status string, whole bool) *seedTask {
	task := &seedTask{ID: run.Run,
		FlowVersionID: versionID(run.Workflow, run.Definition),
		Status:        status,
		ParamsJSON:    shownParams(run.Input), SharedJSON: c.sharedOf(run, whole),
		CurrentNodeKey: run.state.Node, LastAction: run.state.Action, StepCount: run.state.Steps,
		RetryStateJSON: "{}",
		CreatedAt:      run.Started.Unix(), UpdatedAt: run.updatedAt().Unix()}
	if len(run.state.Path) > 0 {
		task.CurrentNodeKey = run.state.Path[0] // the node of the flow itself, not of its subflow
	}
	if run.Status.Closed() {
		task.CurrentNodeKey = ""
	}
	return task
}

// taskStatus is the status of a task. One that was asked to stop is canceling until it has ended.
func (c *call) taskStatus(summary *port.Summary) string {
	status := statusOfSummary(summary)
	if status != taskPending && status != taskRunning {
		return status
	}
	asked, err := c.engine.CancelRequested(c.r.Context(), summary.Run)
	if err == nil && asked {
		return taskCanceling
	}
	return status // also if it cannot be read: then the run is blocked
}

func statusOfSummary(summary *port.Summary) string {
	switch {
	case summary.Status == history.Completed:
		return taskCompleted
	case summary.Status == history.Failed:
		return taskFailed
	case summary.Status.Closed():
		return taskCanceled
	case len(summary.State) == 0 && summary.Large[port.ValueState].Bytes == 0:
		return taskPending
	}
	return taskRunning
}

// shownParams are the params that a task was started with. Where the flow has continued as new, its
// input contains them.
func shownParams(input history.Payload) string {
	var carried struct {
		Position *struct{ Params json.RawMessage } `json:"_rt"`
	}
	if json.Unmarshal(input, &carried) == nil && carried.Position != nil {
		input = history.Payload(carried.Position.Params)
	}
	if len(input) == 0 {
		return "{}"
	}
	return string(input)
}

// sharedOf is the shared state as JSON. A run that cannot answer shows what it has published.
func (c *call) sharedOf(run seenRun, whole bool) string {
	state := run.state
	omits := len(state.Omitted) > 0 || state.More > 0
	switch {
	case run.Status == history.Completed && len(run.Result) > 0:
		return string(run.Result)
	case omits && whole:
		answer, err := c.engine.Query(c.r.Context(), run.Run, flow.StateQuery.Name(), nil)
		if err == nil {
			_ = json.Unmarshal(answer, &state)
		}
	}
	if len(state.Shared) == 0 {
		return "{}"
	}
	text, err := history.Marshal(state.Shared)
	if err != nil {
		return "{}"
	}
	return string(text)
}

const (
	mostTasks = 100 // in a listing
	// mostScanned is how many runs a listing chooses them from: those that started last.
	mostScanned = 2 * engine.LongestPage
)

// seedListTasks lists tasks, the latest update first, of those runs that started last. It lists as
// many as one answer holds.
func seedListTasks(c *call) error {
	status := c.value("status")
	if status != "" && !slices.Contains(taskStatuses, status) {
		return c.answerSeed([]*seedTask{})
	}
	runs, err := c.newestRuns(statusOfRuns(status))
	if err != nil {
		return err
	}
	slices.SortStableFunc(runs, func(a, b seenRun) int {
		return b.updatedAt().Compare(a.updatedAt())
	})
	tasks, length, flows := []*seedTask{}, 0, map[string]bool{}
	for _, run := range runs {
		if len(tasks) == mostTasks {
			break
		}
		if !c.isTask(run.Summary, flows) {
			continue
		}
		if has := c.taskStatus(run.Summary); status == "" || status == has {
			if run, err = c.whole(run); err != nil {
				return err
			}
			task := c.taskOf(run, has, false)
			length += lengthOf(task)
			if most := c.config.LongestAnswer; most > 0 && length > most {
				break
			}
			tasks = append(tasks, task)
		}
	}
	return c.answerSeed(tasks)
}

// lengthOf is how many bytes a task has in a listing.
func lengthOf(task *seedTask) int {
	e := encode(task)
	defer e.free()
	return e.text.Len()
}

// statusOfRuns is the status of runs among which tasks of a status are; empty: of any.
func statusOfRuns(status string) history.Status {
	switch status {
	case taskCompleted:
		return history.Completed
	case taskFailed:
		return history.Failed
	case taskPending, taskRunning, taskCanceling:
		return history.Running
	}
	return ""
}

func (c *call) newestRuns(status history.Status) (runs []seenRun, err error) {
	query := port.ListQuery{Status: status, Limit: engine.LongestPage}
	for scanned := 0; scanned < mostScanned; {
		page, next, err := c.engine.List(c.r.Context(), query)
		if err != nil {
			return nil, err
		}
		scanned += max(len(page), 1)
		for _, summary := range page {
			if summary.Definition > 0 {
				runs = append(runs, seenRunOf(summary))
			}
		}
		if query.Cursor = next; next == "" {
			break
		}
	}
	return runs, nil
}

// whole is a run of a listing with the values that the listing left out, if they are short enough to
// be shown beside others.
func (c *call) whole(run seenRun) (seenRun, error) {
	if len(run.Large) == 0 {
		return run, nil
	}
	read, err := c.engine.Get(c.r.Context(), run.Run)
	if port.CodeOf(err) == port.NotFound {
		return run, nil // its time of retention is over
	} else if err != nil {
		return run, err
	}
	return seenRunOf(read.LeaveOut(port.LongestShown)), nil
}

// seedSignal writes a key of the shared state. Once it is answered, the state has the value, if the
// run takes it within patienceForSignal.
func seedSignal(c *call) error {
	var body struct {
		Task  string `json:"task_id"`
		Key   string
		Value json.RawMessage
	}
	if err := c.readSeed(&body); err != nil {
		return err
	}
	if body.Key == carriedKey {
		return invalid(fmt.Sprintf(
			"the key %q belongs to the engine: use another key", carriedKey))
	}
	if _, err := c.task(body.Task); err != nil {
		return err
	}
	message, err := history.Encode(flow.Message{Key: body.Key, Value: body.Value})
	if err != nil {
		return err
	}
	sent, err := c.engine.SendUpdate(c.r.Context(), engine.MessageRequest{Run: body.Task},
		flow.SetNow.Name(), message)
	if err == nil && !answered(sent) {
		if ctx, end, ok := c.patience(patienceForSignal); ok { // else it is accepted all the same
			defer end()
			sent, err = c.engine.AwaitUpdate(ctx, body.Task, sent)
		}
	}
	switch {
	case err != nil && port.CodeOf(err) != port.Closed:
		return err
	case err == nil && sent.Failure != nil:
		return port.Errorf(port.Rejected, "the signal was not taken: %s", sent.Failure.Message)
	}
	return c.answerDone()
}

// seedCancel asks a task to stop. For an unknown task, or one that has ended, it does nothing.
func seedCancel(c *call) error {
	id := c.value("id")
	if id == "" {
		return missing("the id of the task")
	}
	if _, err := c.task(id); err == nil {
		_, err = c.engine.Cancel(
			c.r.Context(), engine.MessageRequest{Run: id}, "POST /tasks/cancel")
		if code := port.CodeOf(err); err != nil && code != port.Closed && code != port.NotFound {
			return err
		}
	} else if code := port.CodeOf(err); code != port.NotFound && code != port.Invalid {
		return err
	}
	return c.answerDone()
}

// seedRunOnce has nothing to do: tasks advance by themselves.
func seedRunOnce(c *call) error { return c.answerDone() }
