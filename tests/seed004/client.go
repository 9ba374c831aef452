// Package seed004 plays a client and a worker that were written for seed 004, an earlier system for
// flows. They know nothing of this project, and run unchanged against each server that has its
// routes.
package seed004

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Client is an existing client. What it is answered otherwise than it expects fails its test. Where
// it polls, it takes no notice of a server that does not answer.
type Client struct {
	*testing.T
	// Base is glued before each path. It may contain a prefix.
	Base string
	// User is what Base has before the host. Nil: nothing.
	User *url.Userinfo
	// Pace is the time between two looks at a task, and Patience is how long it looks.
	Pace, Patience time.Duration
}

// Send sends a request, and gives the status and the body of the answer.
func (c *Client) Send(method, path, body string) (status int, text string) {
	c.Helper()
	status, text, err := c.try(method, path, body)
	require.NoError(c, err)
	return status, text
}

// try gives an error where there is no answer.
func (c *Client) try(method, path, body string) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(c.Context(), method, c.base()+path,
		strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSuffix(string(answer), "\n"), err
}

func (c *Client) base() string {
	if c.User == nil {
		return c.Base
	}
	return strings.Replace(c.Base, "://", "://"+c.User.String()+"@", 1)
}

// ID sends a request whose answer is read as an object of strings, and gives its id.
func (c *Client) ID(path, body string) string {
	c.Helper()
	status, text := c.Send("POST", path, body)
	require.Equal(c, 200, status, text)
	var answer map[string]string
	require.NoError(c, json.Unmarshal([]byte(text), &answer), text)
	require.NotEmpty(c, answer["id"], text)
	require.Equal(c, url.QueryEscape(answer["id"]), answer["id"], "an id needs no escaping")
	return answer["id"]
}

// Flow makes and publishes a flow.
func (c *Client) Flow(name, definition string) string {
	c.Helper()
	id := c.ID("/flows", fmt.Sprintf(`{"Name":%q}`, name))
	require.Contains(c, id, name)
	c.ID("/flows/version",
		fmt.Sprintf(`{"DefinitionJSON":%q,"FlowID":%q,"Status":"published","Version":1}`,
			definition, id))
	return id
}

// Start starts a task.
func (c *Client) Start(flow, params string) string {
	c.Helper()
	return c.ID("/tasks", fmt.Sprintf(`{"FlowID":%q,"ParamsJSON":%q}`, flow, params))
}

// Task is how a client declares a task.
type Task struct {
	ID, FlowVersionID, Status, ParamsJSON, SharedJSON, CurrentNodeKey, LastAction string
	StepCount                                                                     int
	RetryStateJSON, LeaseOwner                                                    string
	LeaseExpiry                                                                   int64
	RequestID                                                                     string
	CreatedAt, UpdatedAt                                                          int64
}

// Get reads a task.
func (c *Client) Get(id string) (task Task) {
	c.Helper()
	status, text := c.Send("GET", "/tasks/get?id="+id, "")
	require.Equal(c, 200, status, text)
	require.NoError(c, json.Unmarshal([]byte(text), &task))
	return task
}

// Poll is a client's loop: it ends when the task has ended.
func (c *Client) Poll(id string) (task Task) {
	c.Helper()
	require.Eventually(c, func() bool {
		task = c.look(id)
		return task.Status == "completed" || task.Status == "canceled" || task.Status == "failed"
	}, c.Patience, c.Pace)
	return task
}

// look reads a task as a loop does: without an answer, it gives an empty one.
func (c *Client) look(id string) (task Task) {
	if _, text, err := c.try("GET", "/tasks/get?id="+id, ""); err == nil {
		_ = json.Unmarshal([]byte(text), &task) // an existing client reads bodies alone
	}
	return task
}

// At waits until a task is at a node.
func (c *Client) At(id, node string) {
	c.Helper()
	require.Eventually(c, func() bool {
		task := c.look(id)
		return task.Status == "running" && task.CurrentNodeKey == node
	}, c.Patience, c.Pace, node)
}

// Signal writes a key of a task's shared state.
func (c *Client) Signal(task, key, value string) {
	c.Helper()
	status, text := c.Send("POST", "/tasks/signal",
		fmt.Sprintf(`{"task_id":%q,"key":%q,"value":%s}`, task, key, value))
	require.Equal(c, []any{200, `{"ok":"1"}`}, []any{status, text})
}

// Runs gives the body of /tasks/runs, as [Plain] shows it.
func (c *Client) Runs(task string) string {
	c.Helper()
	status, text := c.Send("GET", "/tasks/runs?task_id="+task, "")
	require.Equal(c, 200, status, text)
	return Plain(text, task)
}

var (
	timesOfRows = regexp.MustCompile(
		`"(startedAt|finishedAt|CreatedAt|UpdatedAt|LastHeartbeat)":1[0-9]{9}\b`)
	portOfWorker = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)
)

// Plain replaces what differs from test to test: times, the worker's URL, and ids, which it
// numbers.
func Plain(text string, ids ...string) string {
	text = timesOfRows.ReplaceAllString(text, `"$1":T`)
	text = portOfWorker.ReplaceAllString(text, "WORKER")
	for i, id := range ids {
		text = strings.ReplaceAll(text, id, fmt.Sprintf("ID%d", i))
	}
	return text
}

// ShortRuns lists node, attempt, status, action, branch or inner node, worker and error of each
// node run.
func (c *Client) ShortRuns(task string) (lines []string) {
	c.Helper()
	_, text := c.Send("GET", "/tasks/runs?task_id="+task, "")
	var runs []struct {
		NodeKey, Status, Action, ErrorText, PrepJSON, WorkerID string
		AttemptNo                                              int
	}
	require.NoError(c, json.Unmarshal([]byte(text), &runs), text)
	for _, r := range runs {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %d %s %s %s %s %s",
			r.NodeKey, r.AttemptNo, r.Status, r.Action, r.PrepJSON, r.WorkerID, r.ErrorText), " "))
	}
	return lines
}
