package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Limits of a connection. Those of bodies and answers are in limits.go.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	longestHeader  = 64 << 10 // bytes
	shutdownWithin = 10 * time.Second
)

// Server makes the server for an address on which the caller listens, guarded against browsers. Its Shutdown ends waits.
func (h *Handler) Server(listen string) *http.Server {
	server := NewEarly(listen, h.config.Logger)
	server.Open(h)
	return server.Server
}

// countConnection closes those that are too many. Each is counted until it is closed.
func (h *Handler) countConnection(connection net.Conn, state http.ConnState) {
	open := &h.rooms.connections
	switch state {
	case http.StateNew:
		n := open.taken.Add(1)
		if n == open.most+1 {
			h.config.Logger.Warn("connections are refused: there are too many", "open", open.most)
		}
		if n > open.most {
			_ = connection.Close()
		}
	case http.StateClosed, http.StateHijacked:
		open.give(1)
	}
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
