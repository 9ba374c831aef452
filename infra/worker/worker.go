// Package worker is for programs that offer services over HTTP: flows call them as nodes of the
// kind executor, and Go workflows as the activity http:SERVICE.
//
//	w := worker.New(worker.Config{})
//	worker.Handle(w, "double", func(_ context.Context, n int, _ struct{}) (int, error) { return 2 * n, nil })
//	err := w.Run(ctx)
//
// A worker registers with a server, says each 5 s that it is there and how busy it is, and serves
// POST /exec/SERVICE with {"input": …, "params": …}. It answers with {"result": …} or {"error":
// "…"}. Any program that does so is a worker, whatever its language.
//
// The server calls a service at least once: an answer that is lost is followed by another call. The
// header Idempotency-Key is the same for repeated calls: see [IdempotencyKey].
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Config of a worker. The zero Config takes everything from the environment.
type Config struct {
	// Registry is the URL of the server. Empty: $REGISTRY_URL, else http://127.0.0.1:7717.
	Registry string
	// URL is where the server calls the worker. The worker listens on its host and port, or on
	// another port if that one is in use, and registers the port that it has. Empty: $WORKER_URL,
	// else http://127.0.0.1 with a free port.
	URL string
	// Listen is where the worker listens instead, HOST:PORT, if the URL is that of something before
	// it. It then registers the URL as it is.
	Listen string
	// Token lets the worker register, where the server asks for one: a token of the role worker.
	// Empty: $REPRISE_TOKEN.
	Token string
	// PlainHTTP has the token go over plain HTTP to another machine: something else encrypts there.
	PlainHTTP bool
	// ID names the process. Empty: a random one.
	ID string
	// Heartbeat is the time between heartbeats. Zero: 5 s. A server takes a worker for offline
	// after 15 s, as a rule.
	Heartbeat time.Duration
	// Retry is the time between attempts to register. Zero: 2 s.
	Retry time.Duration
	// Stopping is how long Run waits for calls to end, once its context is canceled. Zero: 10 s.
	Stopping time.Duration
	// LongestBody is how many bytes the body of a call may have. Zero: 64 MB.
	LongestBody int64
	// Logger says when the worker registers, and what it was refused for. Nil: none.
	Logger *slog.Logger
	// HTTP makes the requests to the server. Nil: a client with a time limit of 10 s.
	HTTP *http.Client
}

// ConfigError is a field of [Config] that is of no use. Variable is the environment variable that
// it was perhaps taken from.
type ConfigError struct{ Field, Variable, Problem string }

func (e *ConfigError) Error() string {
	or := ""
	if e.Variable != "" {
		or = " or " + e.Variable
	}
	return fmt.Sprintf("worker.Config.%s%s: %s", e.Field, or, e.Problem)
}

// Worker offers services. Add them with [Handle] before Run.
type Worker struct {
	config   Config
	services map[string]service
	load     atomic.Int64
	told     string // the last refusal that was logged
	// registered: the server has accepted the worker, and has to be told when it leaves.
	registered bool
}

// New makes a worker.
func New(config Config) *Worker {
	config.Registry = strings.TrimRight(cmp.Or(config.Registry, os.Getenv("REGISTRY_URL"),
		"http://127.0.0.1:7717"), "/")
	config.URL = strings.TrimRight(cmp.Or(config.URL, os.Getenv("WORKER_URL"),
		"http://127.0.0.1:0"), "/")
	config.Token = cmp.Or(config.Token, os.Getenv("REPRISE_TOKEN"))
	config.ID = cmp.Or(config.ID, "worker-"+strings.ToLower(rand.Text()))
	config.Heartbeat = cmp.Or(config.Heartbeat, 5*time.Second)
	config.Retry = cmp.Or(config.Retry, 2*time.Second)
	config.Stopping = cmp.Or(config.Stopping, 10*time.Second)
	config.LongestBody = cmp.Or(config.LongestBody, 64<<20)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.HTTP == nil {
		config.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	return &Worker{config: config, services: map[string]service{}}
}

// Run serves until ctx is canceled. It then removes the worker from the server, waits for calls
// that run, and gives nil. It registers again and again until the server accepts, and whenever the
// server does not know it.
func (w *Worker) Run(ctx context.Context) error {
	if len(w.services) == 0 {
		return errors.New("the worker offers no service: add one with worker.Handle")
	}
	if err := w.checkRegistry(); err != nil {
		return err
	}
	listener, address, err := w.listen(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ended := make(chan struct{})
	beating, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(ended)
		w.stayRegistered(beating, address)
	}()
	select {
	case err = <-served:
		err = fmt.Errorf("the worker stopped serving: %w", err)
	case <-ctx.Done():
	}
	stop()
	<-ended
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.config.Stopping)
	defer cancel()
	if w.registered {
		w.leave(last, address)
	}
	if server.Shutdown(last) != nil { // its calls have had their time
		_ = server.Close()
	}
	w.config.HTTP.CloseIdleConnections()
	return err
}

// checkRegistry keeps the token from networks where others could read it.
func (w *Worker) checkRegistry() error {
	target, err := url.Parse(w.config.Registry)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return &ConfigError{"Registry", "REGISTRY_URL", "the server's URL must be one such as " +
			"http://127.0.0.1:7717"}
	}
	host := target.Hostname()
	address, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && address.IsLoopback()
	if w.config.Token != "" && target.Scheme == "http" && !local && !w.config.PlainHTTP {
		return fmt.Errorf("the token would go to %s over plain HTTP: use https, or set PlainHTTP "+
			"if something else encrypts", host)
	}
	return nil
}

// listen gives the URL to register, too.
func (w *Worker) listen(ctx context.Context) (net.Listener, string, error) {
	target, err := url.Parse(w.config.URL)
	if err != nil || target.Host == "" {
		return nil, "", &ConfigError{"URL", "WORKER_URL", "the worker's URL must be one such as " +
			"http://localhost:9000"}
	}
	var config net.ListenConfig
	if w.config.Listen != "" {
		if target.Port() == "0" {
			return nil, "", &ConfigError{"URL", "WORKER_URL",
				"say where the server calls the worker, which listens elsewhere"}
		}
		listener, err := config.Listen(ctx, "tcp", w.config.Listen)
		if err != nil {
			return nil, "", &ConfigError{Field: "Listen",
				Problem: "the worker cannot listen there: " + err.Error()}
		}
		return listener, w.config.URL, nil
	}
	port := cmp.Or(target.Port(), map[string]string{"http": "80", "https": "443"}[target.Scheme],
		"0")
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(target.Hostname(), port))
	if errors.Is(err, syscall.EADDRINUSE) {
		listener, err = config.Listen(ctx, "tcp", net.JoinHostPort(target.Hostname(), "0"))
	}
	if err != nil {
		return nil, "", &ConfigError{"URL", "WORKER_URL", fmt.Sprintf(
			"the worker cannot listen there: %v. If something before the worker has this URL, "+
				"say with Listen "+
				"where the worker itself listens", err)}
	}
	_, port, err = net.SplitHostPort(listener.Addr().String())
	target.Host = net.JoinHostPort(target.Hostname(), port)
	return listener, target.String(), err
}

// names of the services, sorted.
func (w *Worker) names() []string { return slices.Sorted(maps.Keys(w.services)) }
