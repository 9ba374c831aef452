package port

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// Directory lists runs.
type Directory interface {
	// List gives summaries that match, the latest start first, and a cursor for the next page (""
	// at the end). A page may be shorter than the limit although more follow. They are [Shown],
	// without values of more than [LongestListed] bytes: no run's values have another run left out
	// of a page, or a page refused.
	List(ctx context.Context, query ListQuery) (page []*Summary, next string, err error)
	// Unfinished gives the ids of open runs, and of closed ones with items in their inbox, page by
	// page.
	Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error)
}

// ListQuery says which runs to list. Empty fields match all.
type ListQuery struct {
	Status   history.Status
	Workflow string
	// Definition is the version of the published definition that runs have.
	Definition int
	// Blocked: only those that are.
	Blocked bool
	// Attributes that must have these values. An attribute that is a list has the value of each of
	// its elements, too.
	Attributes history.Attributes
	Limit      int
	Cursor     string
}

// Matches says whether a run is one to list. Attributes are the same if they differ in no more than
// the white space that JSON allows. It knows nothing of Limit and Cursor.
func (q ListQuery) Matches(summary *Summary) bool {
	switch {
	case q.Status != "" && summary.Status != q.Status,
		q.Workflow != "" && summary.Workflow != q.Workflow,
		q.Definition != 0 && summary.Definition != q.Definition,
		q.Blocked && summary.Blocked == nil:
		return false
	}
	for name, want := range q.Attributes {
		if have, there := summary.Attributes[name]; !there ||
			!hasValue(compact(have), compact(want)) {
			return false
		}
	}
	return true
}

// hasValue says whether an attribute is the value, or is a list that contains it.
func hasValue(have, want []byte) bool {
	if bytes.Equal(have, want) {
		return true
	}
	var elements []json.RawMessage
	if !bytes.HasPrefix(have, []byte("[")) || json.Unmarshal(have, &elements) != nil {
		return false
	}
	return slices.ContainsFunc(elements, func(element json.RawMessage) bool {
		return bytes.Equal(element, want)
	})
}

// compact is a value without white space.
func compact(value history.Payload) []byte {
	var text bytes.Buffer
	if json.Compact(&text, value) != nil {
		return value
	}
	return text.Bytes()
}
