// Package proxy forwards HTTP requests to the API with the credentials of the process, so that
// clients that cannot sign requests reach a deployed API.
package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
)

// Config of a proxy.
type Config struct {
	// Address of the API, with the path where it lies.
	Address string
	// Transport adds the credentials, and performs requests.
	Transport http.RoundTripper
	// NeverSent says of an error of the transport that the request surely was not sent. Failed
	// connections are known. Nil: there are no others.
	NeverSent func(error) bool
	// LongestBody is how many bytes a request's body may have. Zero: there is no limit. A transport
	// that signs reads bodies into memory.
	LongestBody int64
	// Listen is the address at which the proxy listens.
	Listen string
	// Logger notes answers that break off. Nil: none.
	Logger *slog.Logger
}

// New makes a handler that forwards each request, and its answer, as they come. It refuses what
// pages of other sites make browsers send. The caller's own credentials are left out: those of
// Config.Transport count. The error says what is wrong with the address.
func New(config Config) (http.Handler, error) {
	target, err := url.Parse(config.Address)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("the address %q is not of the form http://host:port or https://host",
			config.Address)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			withoutCredentials(r.Out.Header)
		},
		Transport:     config.Transport,
		FlushInterval: -1, // at once
		ErrorLog:      slog.NewLogLogger(config.Logger.Handler(), slog.LevelWarn),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			config.fail(w, r, target.Host, err)
		},
	}
	return api.Guard(config.Listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			api.Problem(w, port.Invalid, fmt.Sprintf("the query cannot be read: %v", err))
			return
		}
		if leads(r.URL.Path) {
			api.Problem(w, port.Invalid, "the path has a part . or .., and could lead out of the "+
				"API")
			return
		}
		if config.LongestBody > 0 {
			r.Body = http.MaxBytesReader(w, r.Body, config.LongestBody)
		}
		// an answer may begin before the body ends
		_ = http.NewResponseController(w).EnableFullDuplex()
		forward.ServeHTTP(w, r)
	})), nil
}

// withoutCredentials leaves out what says who the caller is, and from which page a browser sends
// the request: the proxy has judged that.
func withoutCredentials(header http.Header) {
	for name := range header {
		upper := strings.ToUpper(name)
		if strings.HasPrefix(upper, "X-AMZ-") || strings.HasPrefix(upper, "SEC-") {
			delete(header, name)
		}
	}
	for _, name := range []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Cookie",
		"Origin", "Referer"} {
		header.Del(name)
	}
}

// fail answers a request that got no answer from the API. Of one that the API may have performed,
// the answer is that of a gateway: clients repeat it only where that is safe.
func (c Config) fail(w http.ResponseWriter, r *http.Request, host string, err error) {
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case r.Context().Err() != nil: // the caller has gone, or the proxy stops
		api.Problem(w, port.Unavailable, "the proxy stops, or the caller has gone")
	case errors.As(err, &tooLarge):
		api.Problem(w, port.TooLarge, fmt.Sprintf(
			"the body is longer than the %d bytes that a signed request may have: store a large "+
				"value elsewhere, and pass where it is", tooLarge.Limit))
	case c.neverSent(err):
		api.Problem(w, port.Unavailable, fmt.Sprintf("the proxy does not reach the API at %s: %v",
			host, err))
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadGateway)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"message": fmt.Sprintf("the proxy got no answer from the API at %s, which may have "+
				"done what was asked: %v", host, err)})
	}
}

// neverSent says whether a request surely did not reach the API, so that each client may repeat it.
func (c Config) neverSent(err error) bool {
	failed := (*net.OpError)(nil)
	return errors.As(err, &failed) && failed.Op == "dial" || c.NeverSent != nil && c.NeverSent(err)
}

// leads says whether a path could lead out of the folder that the API lies in.
func leads(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool {
		return part == "." || part == ".."
	})
}

// Limits of connections.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	longestHeader = 64 << 10 // bytes
	stopWithin    = 5 * time.Second
)

// Server makes a server for the handler. [Stop] ends it.
func Server(handler http.Handler) *http.Server {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: longestHeader, Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	return server
}

// Stop lets requests end for 5 s, and then cancels them.
func Stop(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return server.Close()
}
