package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/reprise-run/reprise/core/engine"
)

// Value writes a value of a run, whole, as JSON: one of [engine.Values]. A value that is missing is
// null. It comes in pieces that are written as they come, so that a value may be of any length. A
// value that changes meanwhile is an error with the code conflict; part of it may have been written
// then.
func (c *Client) Value(ctx context.Context, run, name string, into io.Writer) error {
	query := url.Values{}
	for {
		got, err := c.do(ctx, request{method: http.MethodGet, path: path("runs", run, "values", name), query: query}, into)
		if err != nil {
			return err
		}
		next := got.header.Get(NextHeader)
		if next == "" {
			return nil
		}
		query.Set("after", next)
	}
}

// complete gets the outcome of a run that has ended, where its summary leaves that out for its
// length.
func (c *Client) complete(ctx context.Context, summary *engine.Summary) (*engine.Summary, error) {
	for name, into := range map[string]any{engine.ValueResult: &summary.Result, engine.ValueFailure: &summary.Failure} {
		if !summary.IsLarge(name) {
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
