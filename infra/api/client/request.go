package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/system"
)

// request is one call, which may take several attempts.
type request struct {
	method, path string
	query        url.Values
	body         any
	// once: an attempt without an answer must not be followed by another, for what it did cannot be told.
	once bool
}

// path joins segments, each escaped.
func path(segments ...string) string {
	joined := "/v1"
	for _, segment := range segments {
		joined += "/" + url.PathEscape(segment)
	}
	return joined
}

// answer of a successful call.
type answer struct {
	status int
	header http.Header
}

// do performs a call, again if need be, and reads its answer into what into points to: a writer
// takes the text as it comes, anything else what it decodes to. Nil: it is not looked at.
func (c *Client) do(ctx context.Context, call request, into any) (answer, error) {
	if strings.Contains(call.path, "//") || strings.HasSuffix(call.path, "/") {
		return answer{}, fmt.Errorf("%s %s: an id or a name is empty", call.method, call.path)
	}
	var body []byte
	if call.body != nil {
		var err error
		if body, err = history.Marshal(call.body); err != nil {
			return answer{}, fmt.Errorf("%s %s: the request cannot be encoded: %w", call.method, call.path, err)
		}
	}
	response, err := c.send(ctx, call, body)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	switch into := into.(type) {
	case nil:
		_, err = io.Copy(io.Discard, response.Body)
	case io.Writer:
		_, err = io.Copy(into, response.Body)
	default:
		err = json.NewDecoder(response.Body).Decode(into)
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: the answer was not read: %w", call.method, call.path, err)
	}
	return answer{response.StatusCode, response.Header}, nil
}

// send gives a successful response, whose body the caller closes.
func (c *Client) send(ctx context.Context, call request, body []byte) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		response, err := c.attempt(ctx, call, body)
		if err == nil || attempt >= c.config.Retries || ctx.Err() != nil || !again(err, call.once) {
			return response, err
		}
		if !system.Pause(ctx, backoff(attempt)) {
			return nil, err
		}
	}
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, call request, body []byte) (*http.Response, error) {
	address := c.base + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	var reader io.Reader
	if call.body != nil {
		reader = bytes.NewReader(body)
	}
	outgoing, err := http.NewRequestWithContext(ctx, call.method, address, reader)
	if err != nil {
		return nil, err
	}
	if call.body != nil {
		outgoing.Header.Set("Content-Type", "application/json")
	}
	response, err := c.config.HTTP.Do(outgoing)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < http.StatusBadRequest {
		return response, nil
	}
	defer response.Body.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %s, and the answer was not read: %w", call.method, call.path, response.Status, err)
	}
	return nil, problemOf(response, text)
}

// again says whether another attempt may do better. An answer decides by its code; without one, a call that may be
// repeated is, and one that may not only if it never left.
func again(err error, once bool) bool {
	if p := (*Problem)(nil); errors.As(err, &p) {
		return p.Code == port.Unavailable && !(once && p.unsure)
	}
	return !once || errors.Is(err, syscall.ECONNREFUSED)
}

// backoff is how long to wait after an attempt: each time twice as long, and never twice the same, so that many clients do
// not come back at once.
func backoff(attempt int) time.Duration {
	const first, longest = 50 * time.Millisecond, 2 * time.Second
	wait := min(first<<min(attempt, 10), longest)
	return wait/2 + rand.N(wait) // from half of it to one and a half
}

// poll is how long the next request should wait for something to happen: not past the context's deadline, so that it
// is the server who answers.
func (c *Client) poll(ctx context.Context) url.Values {
	wait := c.config.Poll
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(min(wait, time.Until(deadline)), 0)
	}
	return url.Values{"wait": {wait.String()}}
}

func number[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }
