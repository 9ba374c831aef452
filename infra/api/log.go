package api

import (
	"bytes"
	"errors"
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
			describe: "Records of one generation, in order, as many as fit a page. A record is what happened in one activation, and what the run decided.",
			params:   []*huma.Param{runParam(), generationParam(), queryParam("after", "Only records after this number.", whole(0), 120)},
			answers:  map[int]reply{http.StatusOK: {"A part of the log.", client.HistoryPage{}, false}}, fails: []engine.Code{engine.NotFound}, serve: (*call).getHistory},
		{method: http.MethodGet, path: "/v1/runs/{run}/export", id: "export-history", tag: tag, summary: "Export a generation's whole log",
			describe: "What replay takes. Where a reset began the generation, the records of earlier generations that still count come first. An export that is cut off was not complete.",
			params:   []*huma.Param{runParam(), generationParam()},
			answers:  map[int]reply{http.StatusOK: {"The log, with one record on each line.", exported{}, false}}, fails: []engine.Code{engine.NotFound}, serve: (*call).exportHistory},
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
	records, err := c.engine.History(c.r.Context(), summary.Run, generation, after)
	if err != nil {
		return err
	}
	page := &client.HistoryPage{Run: summary.Run, Generation: generation, Workflow: summary.Workflow, Records: []history.Payload{}}
	for _, record := range records {
		page.Records = append(page.Records, history.AppendRecord(nil, record))
		if page.Next = record.Number; record.Closes() != nil {
			page.Next = 0
		}
	}
	return c.answer(http.StatusOK, page)
}

// exportHistory writes record by record: a log has no limit. The first one is read before the answer begins, so that what
// is wrong can still be said.
func (c *call) exportHistory() error {
	summary, generation, err := c.generation()
	if err != nil {
		return err
	}
	if _, err := c.engine.History(c.r.Context(), summary.Run, generation, 0); err != nil {
		return err
	}
	frame := history.AppendExport(nil, &history.Export{Run: summary.Run, Generation: generation, Workflow: summary.Workflow})
	const closing = "\n]}\n"
	head, ok := bytes.CutSuffix(frame, []byte(closing))
	if !ok {
		return errors.New("an export without records ends differently than its stream")
	}
	header := c.w.Header()
	header["Content-Type"] = []string{"application/json"}
	header["X-Content-Type-Options"] = noSniff
	header["Cache-Control"] = noStore
	out, separator := head, "\n"
	err = c.engine.Export(c.r.Context(), summary.Run, generation, func(record *history.Record) error {
		out = history.AppendRecord(append(out, separator...), record)
		separator = ",\n"
		_, err := c.w.Write(out)
		out = out[:0]
		return err
	})
	if err != nil { // the status is sent: a torn connection is the one way to say that this is not all
		c.config.Logger.ErrorContext(c.r.Context(), "an export was cut off", "run", summary.Run, "error", err)
		panic(http.ErrAbortHandler)
	}
	_, _ = c.w.Write(append(out, closing...)) // the caller may have gone
	return nil
}
