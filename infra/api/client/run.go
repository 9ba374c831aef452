package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// Started is the answer to a start.
type Started struct {
	*wire.Summary
	// Created is false where the run was there already: the same start had been accepted before.
	Created bool
	// Hint says what may be wrong, though the start was accepted: a workflow that nobody has registered yet.
	Hint string
}

// Start starts a run. It returns when the start is durable. Without an id, one is made here, so that it can be repeated.
func (c *Client) Start(ctx context.Context, start engine.StartRequest) (*Started, error) {
	return c.start(ctx, start, nil)
}

// StartAndWait starts a run and waits as [Client.Wait] does.
func (c *Client) StartAndWait(ctx context.Context, start engine.StartRequest) (*Started, error) {
	started, err := c.start(ctx, start, c.poll(ctx))
	if err != nil {
		return started, err
	}
	if ended(started.Summary) {
		started.Summary, err = c.complete(ctx, started.Summary)
		return started, err
	}
	started.Summary, err = c.Wait(ctx, started.Run)
	return started, err
}

func (c *Client) start(ctx context.Context, start engine.StartRequest, query url.Values) (*Started, error) {
	if start.Run == "" {
		start.Run = newID()
	}
	started := &Started{Summary: &wire.Summary{}}
	got, err := c.do(ctx, request{method: http.MethodPost, path: path("runs"), query: query,
		body: &wire.StartBody{Run: start.Run, Workflow: start.Workflow,
			Input:      start.Input,
			Attributes: start.Attributes,
			Definition: start.Definition,
			Reuse:      start.Reuse}}, started.Summary)
	if err != nil {
		return nil, err
	}
	started.Created = got.status == http.StatusCreated
	started.Hint = got.header.Get(wire.HintHeader)
	return started, nil
}

// Get gives a run's summary. Values of more than [port.LongestShown] bytes are left out:
// [Client.Value] gives them.
func (c *Client) Get(ctx context.Context, run string) (*wire.Summary, error) {
	return c.get(ctx, run, nil)
}

func (c *Client) get(ctx context.Context, run string, query url.Values) (*wire.Summary, error) {
	summary := &wire.Summary{}
	if _, err := c.do(ctx, request{method: http.MethodGet, path: path("runs", run), query: query}, summary); err != nil {
		return nil, err
	}
	return summary, nil
}

// Wait waits until a run has ended, or is blocked: then it cannot end by itself, and its summary says why. When the
// context ends first, it gives the context's error, and the summary as it was last seen, if it was.
func (c *Client) Wait(ctx context.Context, run string) (*wire.Summary, error) {
	var last *wire.Summary
	for {
		summary, err := c.get(ctx, run, c.poll(ctx))
		if err != nil {
			if ctx.Err() != nil {
				return last, ctx.Err()
			}
			return nil, err
		}
		if ended(summary) {
			return c.complete(ctx, summary)
		}
		if last = summary; ctx.Err() != nil {
			return last, ctx.Err()
		}
	}
}

func ended(summary *wire.Summary) bool { return summary.Status.Closed() || summary.Blocked != nil }

// List gives one page of the runs that match, the latest start first, without values of more than
// [port.LongestListed] bytes.
func (c *Client) List(ctx context.Context, query port.ListQuery) (*wire.Page, error) {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("status", string(query.Status))
	set("workflow", query.Workflow)
	set("cursor", query.Cursor)
	if query.Blocked {
		values.Set("blocked", "true")
	}
	if query.Definition != 0 {
		values.Set("definition", number(query.Definition))
	}
	if query.Limit != 0 {
		values.Set("limit", number(query.Limit))
	}
	for _, name := range query.Attributes.Sorted() {
		values.Add("attribute", name+"="+string(query.Attributes[name]))
	}
	page := &wire.Page{}
	if _, err := c.do(ctx, request{method: http.MethodGet, path: path("runs"), query: values}, page); err != nil {
		return nil, err
	}
	return page, nil
}

// All goes through all runs that match, page by page. It ends with the first error.
func (c *Client) All(ctx context.Context, query port.ListQuery) iter.Seq2[*wire.Summary, error] {
	return func(yield func(*wire.Summary, error) bool) {
		for {
			page, err := c.List(ctx, query)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, summary := range page.Runs {
				if !yield(summary, nil) {
					return
				}
			}
			if query.Cursor = page.Next; page.Next == "" {
				return
			}
		}
	}
}

// History gives a part of a generation's log: the records after a number, without long values.
// Generation 0 is the current one. [Client.Records] and [Client.Record] give records whole.
func (c *Client) History(
	ctx context.Context, run string, generation, after int,
) (*wire.HistoryPage, error) {
	page := &wire.HistoryPage{}
	query := url.Values{"generation": {number(generation)}, "after": {number(after)}}
	if _, err := c.do(ctx, request{method: http.MethodGet, path: path("runs", run, "history"), query: query}, page); err != nil {
		return nil, err
	}
	return page, nil
}

// Records goes through a generation's log as it stands now: each record as it is stored. history.DecodeRecord reads it. It
// ends with the first error.
func (c *Client) Records(ctx context.Context, run string, generation int) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for after := 0; ; {
			page, err := c.History(ctx, run, generation, after)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, record := range page.Records {
				text, err := c.whole(ctx, page, record)
				if !yield(text, err) || err != nil {
					return
				}
			}
			if page.Next == 0 {
				return
			}
			generation, after = page.Generation, page.Next
		}
	}
}

// whole gives a record of a page with all its values.
func (c *Client) whole(
	ctx context.Context, page *wire.HistoryPage, record history.Payload,
) (json.RawMessage, error) {
	if len(page.Large) == 0 {
		return json.RawMessage(record), nil
	}
	known := struct {
		Number int `json:"n"`
	}{}
	if err := json.Unmarshal(record, &known); err != nil ||
		!slices.Contains(page.Large, known.Number) {
		return json.RawMessage(record), err
	}
	text := &bytes.Buffer{}
	err := c.Record(ctx, page.Run, page.Generation, known.Number, text)
	return text.Bytes(), err
}

// Export writes a generation's whole log, in the form that history.DecodeExport reads. Generation 0 is the current one. It
// comes in pieces, so that a log may be of any length, whatever lies between here and the API.
func (c *Client) Export(ctx context.Context, run string, generation int, into io.Writer) error {
	return c.export(ctx, run, url.Values{"generation": {number(generation)}}, into)
}

// ExportSealed is Export with values sealed, if the server stores them so: then seal.DecodeExport reads it.
func (c *Client) ExportSealed(ctx context.Context, run string, generation int, into io.Writer) error {
	return c.export(ctx, run, url.Values{"generation": {number(generation)}, "sealed": {"true"}}, into)
}

func (c *Client) export(ctx context.Context, run string, query url.Values, into io.Writer) error {
	for {
		text := &bytes.Buffer{}
		got, err := c.do(ctx, request{method: http.MethodGet, path: path("runs", run, "export"), query: query}, text)
		if err != nil {
			return err
		}
		if _, err := into.Write(text.Bytes()); err != nil {
			return err
		}
		next := got.header.Get(wire.NextHeader)
		if next == "" {
			return nil
		}
		query.Del("generation") // the place names it
		query.Set("after", next)
	}
}

// Unblock has a blocked run tried again.
func (c *Client) Unblock(ctx context.Context, run string) error {
	_, err := c.do(ctx, request{method: http.MethodPost, path: path("runs", run, "unblock")}, nil)
	return err
}
