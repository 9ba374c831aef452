package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/reprise-run/reprise/infra/system"
)

// registration and heartbeat are what the server is sent: see its OpenAPI document.
type registration struct {
	ID       string   `json:"id"`
	URL      string   `json:"url"`
	Services []string `json:"services"`
	Load     int64    `json:"load"`
}

type heartbeat struct {
	ID   string `json:"id"`
	URL  string `json:"url"`
	Load int64  `json:"load"`
}

// stayRegistered registers the worker and sends its heartbeats, until the context ends.
func (w *Worker) stayRegistered(ctx context.Context, address string) {
	for w.register(ctx, address) {
		for known := true; known; {
			if !system.Pause(ctx, w.config.Heartbeat) {
				return
			}
			answer := struct{ Known bool }{Known: true}
			beat := heartbeat{w.config.ID, address, w.load.Load()}
			err := w.send(ctx, http.MethodPost, "/v1/workers/heartbeat", beat, &answer)
			if err != nil && ctx.Err() == nil {
				w.config.Logger.WarnContext(ctx, "a heartbeat was not accepted", "error", err)
			}
			known = answer.Known
		}
	}
}

// register repeats the registration until the server accepts it. It says false if the context ended
// before.
func (w *Worker) register(ctx context.Context, address string) bool {
	for {
		err := w.send(ctx, http.MethodPost, "/v1/workers",
			registration{w.config.ID, address, w.names(), w.load.Load()}, nil)
		if err == nil {
			w.told, w.registered = "", true
			w.config.Logger.InfoContext(ctx, "the worker is registered", "url", address,
				"services", w.names())
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if text := err.Error(); text != w.told { // else it repeats the same line each 2 s
			w.told = text
			w.config.Logger.WarnContext(ctx, "the worker is not registered yet", "url", address,
				"error", err)
		}
		if !system.Pause(ctx, w.config.Retry) {
			return false
		}
	}
}

// leave has the server send no further calls.
func (w *Worker) leave(ctx context.Context, address string) {
	err := w.send(ctx, http.MethodDelete, "/v1/workers?url="+url.QueryEscape(address), nil, nil)
	if err != nil {
		w.config.Logger.WarnContext(ctx, "the worker was not removed; the server finds out by "+
			"its heartbeats",
			"error", err)
	}
}

// send makes one request to the server.
func (w *Worker) send(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequestWithContext(ctx, method, w.config.Registry+path,
		bytes.NewReader(text))
	if err != nil {
		return &ConfigError{"Registry", "REGISTRY_URL", "the server's URL cannot be called"}
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if w.config.Token != "" {
		request.Header.Set("Authorization", "Bearer "+w.config.Token)
	}
	response, err := w.config.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	const most = 64 << 10
	answer, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		problem := struct{ Detail string }{}
		_ = json.Unmarshal(answer, &problem) // what is not a problem has a status
		return fmt.Errorf("%s: %s", response.Status, problem.Detail)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
