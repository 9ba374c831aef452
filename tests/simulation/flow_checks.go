package simulation

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// sameFlow compares what a record of a flow's run leaves behind with the naive implementation: the
// state that is published, and of which node a run says that it failed.
func (c *checks) sameFlow(where string, log *checkedLog, commit *port.Commit) {
	naive := log.naive.flow
	if naive == nil || !naive.began {
		return
	}
	if failed, is := commit.Record.Closes().(*history.FailRun); is {
		var details flow.NodeFailure
		err := json.Unmarshal(failed.Failure.Details, &details)
		if err != nil || details.Node != naive.failed {
			c.s.violate("%s: the run says that node %q failed, and it was %q: %v",
				where, details.Node, naive.failed, err)
		}
	}
	if commit.Summary != nil {
		c.showsFlow(where, commit.Summary.State, naive)
	}
}

func (c *checks) showsFlow(where string, published history.Payload, naive *naiveFlow) {
	var state flow.State
	if err := json.Unmarshal(published, &state); err != nil {
		c.s.violate("%s: the published state %s cannot be read: %v", where, published, err)
		return
	}
	if have, want := shownFlow(state, false), naive.shown(false); have != want {
		c.s.violate("%s shows the state\n%s\nand should show\n%s", where, have, want)
	}
}

// sameAnswers compares what a flow's run answers to queries with the naive implementation.
func (c *checks) sameAnswers(where string, by *process, run string, log *checkedLog) {
	naive := log.naive.flow
	if naive == nil || !naive.began || c.s.violation != "" {
		return
	}
	var state flow.State
	c.queried(where, by, run, flow.StateQuery.Name(), &state)
	if have, want := shownFlow(state, true), naive.shown(true); have != want {
		c.s.violate("%s has the state\n%s\nand should have\n%s", where, have, want)
	}
	var rows flow.Rows
	c.queried(where, by, run, flow.RowsQuery.Name(), &rows)
	var have []string
	for _, row := range rows.Rows {
		path := slices.Concat(row.Path, []string{row.Node})
		have = append(have, rowText(path, row.Branch, row.Attempt, row.Status, row.Action))
	}
	if !slices.Equal(have, naive.rows) {
		c.s.violate("%s has the rows\n%s\nand should have\n%s",
			where, strings.Join(have, "\n"), strings.Join(naive.rows, "\n"))
	}
}

func (c *checks) queried(where string, by *process, run, query string, into any) {
	answer, err := by.engine.Query(by.ctx, run, query, nil)
	if err == nil {
		err = json.Unmarshal(answer, into)
	}
	if err != nil {
		c.s.violate("%s: query %s: %v", where, query, err)
	}
}
