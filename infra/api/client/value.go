package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// Value writes a value of a run, whole, as JSON: one of [engine.Values]. A value that is missing is
// null. It comes in pieces that are written as they come, so that a value may be of any length. A
// value that changes meanwhile is an error with the code conflict; part of it may have been written
// then.
func (c *Client) Value(ctx context.Context, run, name string, into io.Writer) error {
	return c.pieces(ctx, request{method: http.MethodGet, path: path("runs", run, "values", name),
		query: url.Values{}}, into)
}

// Record writes one record of a generation's log as it is stored, with all its values. Generation 0
// is the current one. It comes in pieces, as [Client.Value] does.
func (c *Client) Record(
	ctx context.Context, run string, generation, record int, into io.Writer,
) error {
	return c.pieces(ctx,
		request{method: http.MethodGet, path: path("runs", run, "history", number(record)),
			query: url.Values{"generation": {number(generation)}}}, into)
}

// pieces writes the pieces of an answer.
func (c *Client) pieces(ctx context.Context, asked request, into io.Writer) error {
	for {
		got, err := c.do(ctx, asked, into)
		if err != nil {
			return err
		}
		next := got.header.Get(wire.NextHeader)
		if next == "" {
			return nil
		}
		asked.query.Set("after", next)
	}
}

// leftOut reads the value that an answer left out for its length, if it left one out.
func (c *Client) leftOut(ctx context.Context, asked request, got answer, large map[string]wire.Large, into map[string]any) error {
	next := got.header.Get(wire.NextHeader)
	if next == "" {
		return nil
	}
	asked.query = url.Values{"after": {next}}
	text := &bytes.Buffer{}
	if err := c.pieces(ctx, asked, text); err != nil {
		return err
	}
	for name := range large { // there is one
		if err := json.Unmarshal(text.Bytes(), into[name]); err != nil {
			return fmt.Errorf("the %s that the answer left out was not read: %w", name, err)
		}
		delete(large, name)
	}
	return nil
}

// complete gets the outcome of a run that has ended, where its summary leaves that out for its
// length.
func (c *Client) complete(ctx context.Context, summary *wire.Summary) (*wire.Summary, error) {
	for name, into := range map[string]any{port.ValueResult: &summary.Result,
		port.ValueFailure: &summary.Failure} {
		if _, isLarge := summary.Large[name]; !isLarge {
			continue
		}
		text := &bytes.Buffer{}
		err := c.Value(ctx, summary.Run, name, text)
		if err == nil {
			err = json.Unmarshal(text.Bytes(), into)
		}
		if err != nil {
			return summary, fmt.Errorf("the %s of run %q was not read: %w", name, summary.Run, err)
		}
		delete(summary.Large, name)
	}
	return summary, nil
}
