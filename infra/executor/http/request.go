package httpexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// request is what a worker is sent.
type request struct {
	Input  json.RawMessage `json:"input"`
	Params json.RawMessage `json:"params"`
}

// response is what a worker answers with. Names of members match without regard to case.
type response struct {
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
}

func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}

// mostKept is how many connections stay open between calls: as many as a server makes calls at a
// time. With fewer, a busy server would open connections all the time.
const mostKept = 1000

// newClient makes a client that connects to allowed addresses alone. The check is made of each
// address that a name resolved to, at the moment of connecting: a name that changes gains nothing.
// It uses no proxy, follows no redirect and unpacks nothing.
func newClient(allow *Allow) *http.Client {
	dialer := &net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return allow.checkAddress(target.Addr(), target.Port())
		}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true,
			MaxIdleConns: mostKept, MaxIdleConnsPerHost: mostKept, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 3 * time.Second, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects, which is refused: register the URL that it " +
				"redirects to")
		},
	}
}

// ask sends one request to one worker. An error that is not an errWorker says what became of the
// request. It contains nothing of the answer, which may be that of a process that is not a worker.
func (e *Executor) ask(
	ctx context.Context, held *claim, work engine.Work, worker *port.Worker, body []byte,
) (json.RawMessage, error) {
	defer e.occupy(worker.URL)()
	// the rules may have changed since it registered
	base, err := e.config.Allow.checkURL(worker.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadlineCause(ctx, e.deadline(ctx, work.Timeout), errLate)
	defer cancel()
	outgoing, err := http.NewRequestWithContext(ctx, http.MethodPost,
		base.JoinPath("exec", url.PathEscape(work.Name)).String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the worker's URL cannot be called")
	}
	outgoing.Header.Set("Content-Type", "application/json")
	outgoing.Header.Set("Accept", "application/json")
	outgoing.Header.Set("User-Agent", "reprise")
	// Workers can recognize a repetition by it. It also has the client repeat a request that met a
	// connection which the worker had just closed.
	outgoing.Header.Set("Idempotency-Key", activity.InfoOf(ctx).IdempotencyKey)
	answer, err := e.client.Do(outgoing) //nolint:gosec // the client connects to allowed addresses alone
	if err != nil {
		return nil, late(ctx, plain(err))
	}
	defer answer.Body.Close()
	text, err := held.readAll(ctx, io.LimitReader(answer.Body, e.config.LongestAnswer+1))
	if err != nil {
		return nil, late(ctx, fmt.Errorf("the answer was not read: %w", err))
	}
	if int64(len(text)) > e.config.LongestAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", e.config.LongestAnswer)
	}
	return decode(text, answer.StatusCode)
}

// errLate is why a request is canceled that takes too long.
var errLate = errors.New("no answer in time")

func late(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errLate) && !errors.Is(err, errTaken) {
		return errLate
	}
	return err
}

// deadline of one request. It is somewhat before that of the attempt, so that the attempt can still
// say what became of its requests.
func (e *Executor) deadline(ctx context.Context, timeout time.Duration) time.Time {
	if timeout <= 0 {
		timeout = e.config.Timeout
	}
	now := time.Now()
	last := now.Add(timeout)
	if end, ok := ctx.Deadline(); ok {
		const margin = 250 * time.Millisecond
		if end = end.Add(-min(margin, end.Sub(now)/10)); end.Before(last) {
			return end
		}
	}
	return last
}

// plain takes method and URL off an error, which a try has anyway.
func plain(err error) error {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// decode reads an answer leniently, as the wire format says.
func decode(text []byte, status int) (json.RawMessage, error) {
	answer := response{}
	if err := json.Unmarshal(text, &answer); err != nil || !utf8.Valid(text) {
		return nil, fmt.Errorf(
			"the answer, of status %d, is not a JSON object with result or error", status)
	}
	if answer.Error != "" {
		return nil, errWorker(shorten(answer.Error))
	}
	if history.TooDeep(answer.Result) {
		return nil, fmt.Errorf("the result is nested more than %d levels deep", history.MaxDepth)
	}
	return orNull(answer.Result), nil
}

// shorten bounds an error, which is stored with its try.
func shorten(text string) string {
	const most = 4 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
