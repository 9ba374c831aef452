package api

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/reprise-run/reprise/core/port"
)

// Early is an HTTP server that listens before its handler is ready. Until [Early.Open], it answers
// each request with 503 and the reason, which clients repeat.
type Early struct {
	*http.Server
	why    atomic.Pointer[string]
	opened atomic.Pointer[opened]
	early  sync.Map // connections that came before the handler, which does not count them
}

type opened struct {
	handler *Handler
	guarded http.Handler
}

// NewEarly makes a server for an address on which the caller listens.
func NewEarly(listen string, logger *slog.Logger) *Early {
	e := &Early{}
	e.Says("it starts")
	e.Server = &http.Server{Addr: listen, Handler: e, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		WriteTimeout: longestRequest, MaxHeaderBytes: longestHeader, ConnState: e.countConnection, Protocols: &http.Protocols{},
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn)}
	e.Protocols.SetHTTP1(true) // alone: a connection has one request at a time
	e.RegisterOnShutdown(func() {
		if open := e.opened.Load(); open != nil {
			open.handler.EndWaits()
		}
	})
	return e
}

// Says changes the reason.
func (e *Early) Says(why string) { e.why.Store(&why) }

// Open has a handler answer from now on, guarded against browsers.
func (e *Early) Open(h *Handler) { e.opened.Store(&opened{h, h.guard(e.Addr, h)}) }

// ServeHTTP implements http.Handler.
func (e *Early) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if open := e.opened.Load(); open != nil {
		open.guarded.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Connection", "close")
	Problem(w, port.Unavailable, fmt.Sprintf("the server is not ready yet: %s; try again",
		*e.why.Load()))
}

func (e *Early) countConnection(connection net.Conn, state http.ConnState) {
	open := e.opened.Load()
	switch _, early := e.early.Load(connection); {
	case open == nil && state == http.StateNew:
		e.early.Store(connection, true)
	case early && (state == http.StateClosed || state == http.StateHijacked):
		e.early.Delete(connection)
	case open != nil && !early:
		open.handler.countConnection(connection, state)
	}
}
