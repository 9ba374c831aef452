package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func logEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/v1/runs/{run}/history", id: "get-history",
			summary: "Get a part of a run's log",
			describe: "Records of one generation, in order, as many as fit a page of about a " +
				"megabyte, at least one. A record is what happened in one activation, and what " +
				"the run decided. " +
				fmt.Sprintf("Values of more than %d bytes are left out; where a record is still "+
					"longer than a page, those of more than %d bytes, or all. ", port.LongestShown, port.LongestListed) +
				"Where the member input would stand, input@ says how long it is. get-record " +
				"gives such a record whole.",
			params: []*huma.Param{runParam(), generationParam(),
				queryParam("after", "Only records after this number.", whole(0), 120)},
			answers: map[int]reply{http.StatusOK: {"A part of the log.", wire.HistoryPage{}, ""}},
			fails:   []port.Code{port.NotFound, port.Blocked},
			serve:   getHistory},
		{method: http.MethodGet, path: "/v1/runs/{run}/history/{record}", id: "get-record",
			summary: "Read one record of a run's log, whole",
			describe: "As it is stored, with all its values. Where a gateway limits answers, it " +
				"comes in pieces: as long as an answer has the header " + wire.NextHeader +
				", the same request with that as after gives the next piece.",
			params: []*huma.Param{runParam(), {Name: "record", In: "path", Required: true,
				Description: "The number of the record.", Example: 4, Schema: whole(1)},
				generationParam(), queryParam("after", afterParam("the record"),
					matching(spotPattern), nil)},
			answers: map[int]reply{http.StatusOK: {"The record, or a piece of its text.",
				json.RawMessage(nil), wire.NextHeader}},
			fails: []port.Code{port.NotFound, port.Conflict, port.Blocked}, serve: getRecord},
		{method: http.MethodGet, path: "/v1/runs/{run}/export", id: "export-history",
			summary: "Export a generation's whole log",
			describe: "What replay takes. Where a reset began the generation, the records of " +
				"earlier generations that still count come first. " +
				"It comes in pieces of about a megabyte, cut anywhere: as long as an answer has " +
				"the header " + wire.NextHeader + ", the text goes on, " +
				"and the same request with that as after gives the next piece. Put one after the " +
				"other, they are the export.",
			params: []*huma.Param{runParam(), generationParam(),
				queryParam("after", "The next piece after this place: "+wire.NextHeader+" of the piece before.", matching(plainPattern), nil),
				queryParam("sealed", "Leave values sealed, if the server stores them so: the "+
					"export says nothing to whoever lacks the key.", &huma.Schema{Type: huma.TypeBoolean}, true)},
			answers: map[int]reply{http.StatusOK: {"The log, with one record on each line, or a " +
				"piece of that text.", exported{}, wire.NextHeader}},
			fails: []port.Code{port.NotFound, port.Blocked}, serve: exportHistory},
	}
}

// generation finds the generation that is asked for: the current one where none is named.
func (c *call) generation() (*port.Summary, int, error) {
	generation, err := c.number("generation")
	if err != nil {
		return nil, 0, err
	}
	summary, err := c.engine.Get(c.r.Context(), c.r.PathValue("run"))
	if err != nil {
		return nil, 0, err
	}
	if generation == 0 {
		generation = summary.Generation
	}
	return summary, generation, nil
}

func getHistory(c *call) error {
	summary, generation, err := c.generation()
	if err != nil {
		return err
	}
	after, err := c.number("after")
	if err != nil {
		return err
	}
	if err := c.awaitRoomForLog(summary.Run, generation, after); err != nil {
		return err
	}
	records, err := c.engine.History(c.r.Context(), summary.Run, generation, after)
	if err != nil {
		return err
	}
	page := &wire.HistoryPage{Run: summary.Run, Generation: generation, Workflow: summary.Workflow,
		Records: []history.Payload{}}
	size := 0
	for _, record := range records {
		text, whole := shownRecord(record)
		if size += len(text); size > pieceOfLog && len(page.Records) > 0 {
			break
		}
		page.Records = append(page.Records, text)
		if !whole {
			page.Large = append(page.Large, record.Number)
		}
		if page.Next = record.Number; record.Closes() != nil {
			page.Next = 0
		}
	}
	return c.answer(http.StatusOK, page)
}

// shownRecord is the text of a record as a page of the history shows it, and whether that is all of
// it. It leaves out as many values as it must so that the record fits.
func shownRecord(record *history.Record) (text []byte, whole bool) {
	for _, most := range []int{port.LongestShown, port.LongestListed, 0} {
		whole = true
		text = history.Encoder{Away: func(value history.Payload) (string, bool) {
			if len(value) <= most {
				return "", false
			}
			whole = false
			return leftOut(value), true
		}}.Record(record)
		if len(text) <= pieceOfLog {
			break
		}
	}
	return text, whole
}

// leftOut is what stands for a value.
func leftOut(value history.Payload) string {
	large := port.LargeOf(value)
	return fmt.Sprintf("%d bytes, left out: %s", large.Bytes, large.Preview)
}

func getRecord(c *call) error {
	number, err := strconv.Atoi(c.r.PathValue("record"))
	if err != nil || number < 1 {
		return invalid(fmt.Sprintf("%.100q is not the number of a record: it is a whole number "+
			"from 1", c.r.PathValue("record")))
	}
	summary, asked, err := c.generation()
	if err != nil {
		return err
	}
	run := summary.Run
	size, err := c.engine.SizeOfRecords(c.r.Context(), run, asked, number-1)
	if err != nil {
		return err
	}
	return c.giveLong(&long{what: fmt.Sprintf("record %d of generation %d of run %q", number, asked,
		run), size: size, read: func() ([]byte, error) {
		records, err := c.engine.History(c.r.Context(), run, asked, number-1)
		if err != nil {
			return nil, err
		}
		if len(records) == 0 || records[0].Number != number {
			return nil, &port.Error{Code: port.NotFound,
				Message: fmt.Sprintf("the log of run %q has no record %d in this generation: "+
					"get-history lists its records", run, number)}
		}
		return history.AppendRecord(nil, records[0]), nil
	}})
}
