package flow

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Row is one node run: an attempt of a call, or a node that has ended.
type Row struct {
	// ID counts the rows of the run, from 1.
	ID int `json:"id"`
	// Node is the key of the node, and Path the subflows around it, outermost first.
	Node string   `json:"node"`
	Path []string `json:"path,omitempty"`
	// Branch is which call of a foreach or a parallel it is: an index, or a service. Empty: the
	// node's own.
	Branch string `json:"branch,omitempty"`
	// Attempt counts from 1. It is 0 in the row of a cancellation.
	Attempt int    `json:"attempt"`
	Status  string `json:"status"` // ok, error, canceled
	Action  string `json:"action,omitempty"`
	Error   string `json:"error,omitempty"`
	// Input and Result are left out where they are large, and in rows of calls: there, the activity
	// has them in the run's history.
	Input    json.RawMessage `json:"input,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Started  time.Time       `json:"started,omitzero"`
	Finished time.Time       `json:"finished,omitzero"`
	// Call is the id of the activity in the run's history; empty if it is not an activity's row.
	Call string `json:"call,omitempty"`
}

// Statuses of rows (S4.6).
const (
	RowOK       = "ok"
	RowError    = "error"
	RowCanceled = "canceled"
)

const (
	mostRows    = 20_000 // that a run keeps in memory
	carriedRows = 1000   // that the next generation is given
	longestKept = 1024   // bytes of an input or result in a row
	pageOfRows  = 1000
)

// note adds a row and gives its number. Of too many rows, the oldest are forgotten.
func (r *run) note(row Row) {
	if len(r.Rows) >= mostRows {
		kept := mostRows / 2
		r.Dropped += len(r.Rows) - kept
		r.Rows = append([]Row(nil), r.Rows[len(r.Rows)-kept:]...)
	}
	row.ID = r.Dropped + len(r.Rows) + 1
	row.Error = shorten(row.Error)
	if len(row.Input) > longestKept {
		row.Input = nil
	}
	if len(row.Result) > longestKept {
		row.Result = nil
	}
	r.Rows = append(r.Rows, row)
}

// Page asks for rows: at most 1,000 that come after the row of this number. Last asks for the
// newest so many of these.
type Page struct {
	After int `json:"after"`
	Last  int `json:"last,omitempty"`
}

// Rows are some of the rows of a run, in the order in which they ended.
type Rows struct {
	Rows []Row `json:"rows"`
	// More says that there are further rows after the last one.
	More bool `json:"more"`
	// Dropped is how many rows at the run's beginning are no longer kept. Those that are an
	// activity's can be made from the history: see [ParseCall].
	Dropped int `json:"dropped,omitempty"`
}

// page gives the rows that a query asks for.
func (p *progress) page(ask Page) Rows {
	from := min(max(ask.After-p.Dropped, 0), len(p.Rows))
	if ask.Last > 0 {
		from = max(from, len(p.Rows)-ask.Last)
	}
	to := min(from+pageOfRows, len(p.Rows))
	return Rows{Rows: p.Rows[from:to], More: to < len(p.Rows), Dropped: p.Dropped}
}

// CallID is the id of the activity of one call: node, step of the run, branch and attempt, as in
// order/pay#12[3].1. In the names of path and node, ~ is ~0, / is ~1 and # is ~2.
func CallID(path []string, node string, step int, branch string, attempt int) string {
	var id strings.Builder
	for _, name := range path {
		id.WriteString(callEscaper.Replace(name) + "/")
	}
	id.WriteString(callEscaper.Replace(node) + "#" + strconv.Itoa(step))
	if branch != "" {
		id.WriteString("[" + branch + "]")
	}
	return id.String() + "." + strconv.Itoa(attempt)
}

// callEscaper writes the key of a node as part of an id, and callUnescaper reads it.
var (
	callEscaper   = strings.NewReplacer("~", "~0", "/", "~1", "#", "~2")
	callUnescaper = strings.NewReplacer("~2", "#", "~1", "/", "~0", "~")
)

// callID is the form of an id. A branch, which may be the name of a service, has any characters.
var callID = regexp.MustCompile(`(?s)^((?:[^/#]+/)*)([^/#]+)#(\d+)(?:\[(.*)\])?\.(\d+)$`)

// ParsedCall is what the id of a call's activity says.
type ParsedCall struct {
	Path    []string // the subflows around the node, outermost first
	Node    string
	Step    int    // of the run
	Branch  string // of a foreach or a parallel
	Attempt int    // from 1
}

// ParseCall reads what [CallID] wrote. False: the activity is not a call of a flow.
func ParseCall(id string) (ParsedCall, bool) {
	parts := callID.FindStringSubmatch(id)
	if parts == nil {
		return ParsedCall{}, false
	}
	call := ParsedCall{Node: callUnescaper.Replace(parts[2]), Branch: parts[4]}
	for name := range strings.SplitSeq(strings.TrimSuffix(parts[1], "/"), "/") {
		if name != "" {
			call.Path = append(call.Path, callUnescaper.Replace(name))
		}
	}
	var wrong, wrongToo error
	call.Step, wrong = strconv.Atoi(parts[3])
	call.Attempt, wrongToo = strconv.Atoi(parts[5])
	return call, wrong == nil && wrongToo == nil
}
