package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/client"
)

func (h *Handler) logEndpoints() []endpoint {
	const tag = "history"
	return []endpoint{
		{method: http.MethodGet, path: "/v1/runs/{run}/history", id: "get-history", tag: tag, summary: "Get a part of a run's log",
			describe: "Records of one generation, in order, as many as fit a page of about a megabyte, at least one. A record is what happened in one activation, and what the run decided.",
			params:   []*huma.Param{runParam(), generationParam(), queryParam("after", "Only records after this number.", whole(0), 120)},
			answers:  map[int]reply{http.StatusOK: {"A part of the log.", client.HistoryPage{}, ""}}, fails: []engine.Code{engine.NotFound, engine.Blocked}, serve: (*call).getHistory},
		{method: http.MethodGet, path: "/v1/runs/{run}/export", id: "export-history", tag: tag, summary: "Export a generation's whole log",
			describe: "What replay takes. Where a reset began the generation, the records of earlier generations that still count come first. " +
				"It comes in pieces of about a megabyte, cut anywhere: as long as an answer has the header " + client.NextHeader + ", the text goes on, " +
				"and the same request with that as after gives the next piece. Put one after the other, they are the export.",
			params: []*huma.Param{runParam(), generationParam(), queryParam("after", "The next piece after this place: "+client.NextHeader+" of the piece before.", matching(plainPattern), nil),
				queryParam("sealed", "Leave values sealed, if the server stores them so: the export says nothing to whoever lacks the key.", &huma.Schema{Type: huma.TypeBoolean}, true)},
			answers: map[int]reply{http.StatusOK: {"The log, with one record on each line, or a piece of that text.", exported{}, client.NextHeader}},
			fails:   []engine.Code{engine.NotFound, engine.Blocked}, serve: (*call).exportHistory},
	}
}

// generation finds the generation that is asked for: the current one where none is named.
func (c *call) generation() (*engine.Summary, int, error) {
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

func (c *call) getHistory() error {
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
	page := &client.HistoryPage{Run: summary.Run, Generation: generation, Workflow: summary.Workflow, Records: []history.Payload{}}
	size := 0
	for _, record := range records {
		text := history.AppendRecord(nil, record)
		if size += len(text); size > pieceOfLog && len(page.Records) > 0 {
			break
		}
		page.Records = append(page.Records, text)
		if page.Next = record.Number; record.Closes() != nil {
			page.Next = 0
		}
	}
	return c.answer(http.StatusOK, page)
}
