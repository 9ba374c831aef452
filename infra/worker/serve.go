package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
)

// service performs one call.
type service func(ctx context.Context, input, params json.RawMessage) (any, error)

// Handle adds a service. Its function gets the input and the params of the call as values of these
// types: input is a node's prepared input, params those of task and node together. A missing value
// is the type's zero value. What the function returns becomes JSON. The text of its error becomes
// that of the failed call. Any number of calls may run at a time.
//
// Handle panics if the name is empty, or is that of a service that was added before.
func Handle[I, P, O any](
	w *Worker, name string, perform func(ctx context.Context, input I, params P) (O, error),
) {
	if name == "" || w.services[name] != nil {
		panic(fmt.Sprintf("worker: the service %q has no name, or is there already", name))
	}
	w.services[name] = func(ctx context.Context, input, params json.RawMessage) (any, error) {
		var in I
		var with P
		if err := decode("input", input, &in); err != nil {
			return nil, err
		}
		if err := decode("params", params, &with); err != nil {
			return nil, err
		}
		return perform(ctx, in, with)
	}
}

func decode(what string, text json.RawMessage, into any) error {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// answer is that of a call.
type answer struct {
	Result any    `json:"result"`
	Error  string `json:"error,omitempty"`
}

type keyOfCall struct{}

// IdempotencyKey gives the key of the call that a service's context belongs to. A call that comes
// again has the same key; each retry of a node is another call. Give the key to what the service
// changes, so that a repeated call does not change it twice. It is empty if the caller sent no key.
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(keyOfCall{}).(string)
	return key
}

var origins = http.NewCrossOriginProtection()

// ServeHTTP serves POST /exec/SERVICE, below any path. It refuses what a web page of another site
// has a browser send.
func (w *Worker) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	_, name, ok := strings.Cut(r.URL.Path, "/exec/")
	perform := w.services[name]
	switch {
	case !ok || perform == nil:
		http.Error(to, fmt.Sprintf("no service %q here", name), http.StatusNotFound)
		return
	case r.Method != http.MethodPost:
		http.Error(to, "a service is called with POST", http.StatusMethodNotAllowed)
		return
	case origins.Check(r) != nil:
		http.Error(to, "requests from web pages are refused", http.StatusForbidden)
		return
	}
	w.load.Add(1)
	defer w.load.Add(-1)
	text, err := json.Marshal(w.perform(r, perform))
	if err != nil {
		text, _ = json.Marshal(answer{Error: "the result is not JSON: " + err.Error()})
	}
	to.Header().Set("Content-Type", "application/json")
	_, _ = to.Write(text) // the caller may have gone
}

func (w *Worker) perform(r *http.Request, perform service) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			w.config.Logger.ErrorContext(r.Context(), "a service panicked", "path", r.URL.Path,
				"panic", p,
				"stack", string(debug.Stack()))
			a = answer{Error: fmt.Sprint("the service panicked: ", p)}
		}
	}()
	body, err := io.ReadAll(io.LimitReader(r.Body, w.config.LongestBody+1))
	if err == nil && int64(len(body)) > w.config.LongestBody {
		err = fmt.Errorf("the call has more than %d bytes", w.config.LongestBody)
	}
	var call struct{ Input, Params json.RawMessage }
	if err == nil && json.Unmarshal(body, &call) != nil {
		err = errors.New("the call is not a JSON object with input and params")
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	ctx := context.WithValue(r.Context(), keyOfCall{}, r.Header.Get("Idempotency-Key"))
	result, err := perform(ctx, call.Input, call.Params)
	if err != nil {
		return answer{Error: failure(err)}
	}
	return answer{Result: result}
}

// failure is the text of an error, which must not be empty: the call would have succeeded.
func failure(err error) string {
	if text := err.Error(); text != "" {
		return text
	}
	return fmt.Sprintf("an error of type %T without a text", err)
}
