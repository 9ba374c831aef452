package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of a connection. There is none for writing an answer: waits and values take as long as they take.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	longestHeader  = 64 << 10 // bytes
	shutdownWithin = 10 * time.Second
)

// Server makes the server for an address on which the caller listens, guarded against browsers. Its Shutdown ends waits.
func (h *Handler) Server(listen string) *http.Server {
	server := &http.Server{Addr: listen, Handler: h.guard(listen, h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: longestHeader, ErrorLog: slog.NewLogLogger(h.config.Logger.Handler(), slog.LevelWarn)}
	server.RegisterOnShutdown(h.EndWaits)
	return server
}

// Serve answers requests until the context ends; then waits are ended, and what is under way may finish for ten seconds.
// It closes the listener.
func (h *Handler) Serve(ctx context.Context, listener net.Listener) error {
	server := h.Server(listener.Addr().String())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWithin)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
