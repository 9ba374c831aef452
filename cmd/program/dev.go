package program

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/api"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
	"github.com/reprise-run/reprise/infra/system"
)

// stopping limits how long a server takes to stop in good order. What is left then is taken up at the next start.
const stopping = 10 * time.Second

// shortestRetention is the least that runs are kept: whoever waits for one must still find it when it has ended.
const shortestRetention = time.Minute

// devFlags are those of dev.
type devFlags struct {
	listen, data      string
	retention         time.Duration
	tokens, cert, key string
	keys              string // a file, of those that values are sealed with
	replayEach        bool
	memory            string
	bytes             int64          // of memory
	budget            *memory.Budget // a part of them
	allowed           []string       // rules for URLs of workers
	workerTTL         time.Duration
	workers           *httpexec.Allow // by the rules
}

// dev is the server for development.
func (p *program) dev() *cobra.Command {
	given := &devFlags{allowed: []string{httpexec.Loopback}}
	command := p.server(given, "dev", "Run the server for development: the whole system in this process",
		"Run the server for development: the whole system in this process. For production, see serve, which is the same server.")
	command.Flags().BoolVar(&given.replayEach, "replay-each", false,
		"replay a run's whole log after each activation, so that workflow code that decides differently on replay blocks its run at once; slow")
	return command
}

// serveVerb is the server for production. It is the same one: a separate name keeps flags for development out of it.
func (p *program) serveVerb() *cobra.Command {
	return p.server(&devFlags{}, "serve", "Run the server for production on one machine: the whole system in this process",
		"Run the server for production on one machine: the whole system in this process. Let a supervisor such as systemd start it again "+
			"when it ends, name the folder of its runs with --data on a disk that is backed up, and give each caller a token (see token). "+
			"A kill at any moment loses nothing that was accepted.")
}

func (p *program) server(given *devFlags, name, short, long string) *cobra.Command {
	command := &cobra.Command{
		Use:   name,
		Short: short,
		Long: long + "\n\nRuns are kept in a folder, and continue from there at the next start.\n\n" +
			"Where it listens on a loopback address, it serves everybody on this machine, unless there are tokens: then it asks for one. To listen " +
			"beyond this machine it needs tokens (--auth-tokens, or the variable " + tokenVariable + " for a single one), and a certificate, or to be told " +
			"(--plain-http) that something else encrypts.\n\n" +
			"With --encryption-key, values are sealed before they are stored: the folder then says what happened, and nothing of inputs, results and messages. " + keyHelp + "\n\n" +
			"With --memory, the server stays within so many bytes: runs that wait are evicted from memory, and a request whose body or answer finds no room is " +
			"answered with status 503 and Retry-After. A value needs about four times its own length for a moment, of half of this memory.\n\n" +
			"An interrupt (Ctrl-C) or SIGTERM stops it within " + stopping.String() + "; a second one ends it at once, and does no harm either.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.serve(command.Context(), command, *given)
		},
	}
	flags := command.Flags()
	flags.StringVar(&given.listen, "listen", defaultAddress, "where to listen, HOST:PORT; port 0 takes one that is free")
	flags.StringVar(&given.data, "data", "", "the folder that keeps the runs (default: "+p.name+" in $XDG_STATE_HOME, else in ~/.local/state)")
	flags.DurationVar(&given.retention, "retention", local.Retention, "how long ended runs are kept, 1m at least; 0: for ever")
	flags.StringVar(&given.memory, "memory", "", "how much memory the server may use, as 512MiB or 4GiB (default: GOMEMLIMIT, else three quarters of what "+
		"the control group or the machine has)")
	flags.StringVar(&given.tokens, "auth-tokens", "", "the list of tokens that let callers in, as token makes it (default: that of $"+tokenVariable+" alone, if it is set)")
	flags.StringVar(&given.cert, "tls-cert", "", "the certificate to serve HTTPS with, and those between it and its root: a PEM file")
	flags.StringVar(&given.key, "tls-key", "", "the certificate's private key: a PEM file")
	command.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	flags.StringArrayVar(&given.allowed, "allow-worker", given.allowed, "allow URLs of workers by a `RULE`, several times for several rules: loopback; an "+
		"address or a network, 10.0.0.0/8; a host name with public addresses, *.example.com; :PORT may follow. No other URL is called")
	flags.DurationVar(&given.workerTTL, "worker-ttl", port.WorkerTTL, "how long a worker is online after its last heartbeat")
	keyFlag(command, &given.keys)
	if err := command.MarkFlagDirname("data"); err != nil {
		panic(err) // there is no such flag: a mistake in this function
	}
	return command
}

// served is a server that is up, with what is to be closed.
type served struct {
	address  string
	data     string
	node     *local.Node
	handler  *api.Handler
	server   *api.Early
	listener net.Listener
	failed   chan error
}

func (p *program) serve(ctx context.Context, command *cobra.Command, given devFlags) error {
	tokens, err := serverTokens(given.tokens)
	if err != nil {
		return err
	}
	if err := p.checkListen(ctx, given, len(tokens) > 0); err != nil {
		return misuse(command, err)
	}
	if given.retention != 0 && given.retention < shortestRetention {
		return misuse(command, fmt.Errorf("--retention %s: it is %s at least, or 0 for ever", given.retention, shortestRetention))
	}
	if given.workers, err = httpexec.ParseAllow(given.allowed); err != nil {
		return misuse(command, fmt.Errorf("--allow-worker: %w", err))
	}
	if given.workerTTL < time.Second {
		return misuse(command, fmt.Errorf("--worker-ttl %s: it is 1s at least", given.workerTTL))
	}
	if given.bytes, err = parseMemory(given.memory); err != nil {
		return misuse(command, err)
	}
	given.budget = useMemory(given.bytes)
	s, err := p.open(ctx, given, tokens)
	if err != nil {
		if ctx.Err() != nil {
			return &exit{code: interrupted, err: errors.New("interrupted while starting")}
		}
		return err
	}
	p.announce(s)
	select {
	case err := <-s.failed:
		p.close(s)
		return &exit{code: broken, err: fmt.Errorf("the server stopped: %w", err)}
	case <-ctx.Done():
		p.say("stopping; a second interrupt ends it at once")
		p.close(s)
		return nil
	}
}

// checkListen refuses to listen where others than this machine's users could reach a server that does not ask who they are,
// or could read what its callers say.
func (p *program) checkListen(ctx context.Context, given devFlags, asks bool) error {
	host, _, err := net.SplitHostPort(given.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: it is HOST:PORT, as in %s", given.listen, defaultAddress)
	}
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	beyond := err != nil || len(addresses) == 0
	for _, address := range addresses {
		beyond = beyond || !address.IP.IsLoopback()
	}
	switch {
	case !beyond:
		return nil
	case !asks:
		return fmt.Errorf("--listen %s could be reached from beyond this machine, and there are no tokens: whoever reaches it could start, read and end runs\n"+
			"make a token with `%s token`, and name the list with --auth-tokens, or listen on 127.0.0.1 or localhost", given.listen, p.name)
	case given.cert == "" && !p.plainHTTP:
		return fmt.Errorf("--listen %s could be reached from beyond this machine, and plain HTTP could be read on the way, tokens included\n"+
			"give a certificate with --tls-cert and --tls-key, or say --plain-http where something else encrypts: a proxy, a tunnel, a network of its own", given.listen)
	case given.cert == "":
		p.say("warning: what comes and goes at %s is not encrypted; something before it must do that", given.listen)
	}
	return nil
}

// open starts everything, or nothing.
func (p *program) open(ctx context.Context, given devFlags, tokens []api.Token) (s *served, err error) {
	s = &served{failed: make(chan error, 1)}
	certificate, err := given.certificate()
	if err != nil {
		return nil, err
	}
	if s.listener, err = listen(ctx, given.listen); err != nil {
		return nil, err
	}
	codec, err := p.codec(given.keys)
	if err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	s.address = "http://" + s.listener.Addr().String()
	if certificate != nil {
		s.address = "https://" + s.listener.Addr().String()
		s.listener = tls.NewListener(s.listener, certificate)
	}
	s.server = api.NewEarly(s.listener.Addr().String(), p.logger())
	go s.serve()
	if s.node, s.data, err = p.openNode(ctx, given, codec, s.server.Says); err != nil {
		return nil, errors.Join(err, s.server.Close())
	}
	begun := p.now()
	s.handler, err = api.New(api.Config{Engine: s.node.Engine, Version: version(), Logger: p.logger(), Backlog: s.node.Backlog, Healthy: s.node.Writable, Tokens: tokens, Seal: codec, Backup: s.node.Backup, Memory: given.budget,
		Folder: s.data, Seed004: true,
		Uptime: func() time.Duration { return p.now().Sub(begun) }})
	if err != nil {
		return nil, errors.Join(err, s.server.Close(), s.node.Close())
	}
	s.server.Open(s.handler)
	return s, nil
}

// serve answers requests until the server is shut down or closed.
func (s *served) serve() {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.failed <- err
	}
}

// certificate is what HTTPS is served with; nil: it is not.
func (f *devFlags) certificate() (*tls.Config, error) {
	if f.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, &exit{code: usage, err: fmt.Errorf("--tls-cert %s with --tls-key %s: %w", f.cert, f.key, err)}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &exit{code: refused, err: fmt.Errorf("%s is in use, perhaps by another server: stop that one, or choose another port with --listen "+
			"(port 0 takes one that is free)", address)}
	case errors.Is(err, syscall.EACCES):
		return nil, &exit{code: broken, err: fmt.Errorf("%s may not be listened on by this user: choose a port above 1023 with --listen", address)}
	case err != nil:
		return nil, &exit{code: broken, err: fmt.Errorf("%s cannot be listened on: %w", address, root(err))}
	}
	return listener, nil
}

// openNode opens the data folder and takes up what was under way.
func (p *program) openNode(ctx context.Context, given devFlags, codec seal.Codec, says func(string)) (*local.Node, string, error) {
	folder, err := p.dataFolder(given.data)
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(folder, "reprise.db")
	if err := emptied(folder, file); err != nil {
		return nil, "", err
	}
	says("it checks its database")
	store, err := sqlite.Open(file, sqlite.Options{Codec: codec, HotBytes: hotBytes(given.bytes), Logger: p.logger()})
	if err != nil {
		code := broken
		if strings.Contains(err.Error(), "in use") {
			code = refused
		}
		if errors.Is(err, history.ErrUnreadable) {
			return nil, "", &exit{code: usage, err: fmt.Errorf("%w\n--encryption-key or %s names the file with the keys", err, keyVariable)}
		}
		return nil, "", &exit{code: code, err: fmt.Errorf("%w (--data chooses another folder)", err)}
	}
	p.warnOthers(store.Path(), "and with it all that runs were given")
	key, err := p.tokenKey(folder)
	if err != nil {
		return nil, "", errors.Join(err, store.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	retention := given.retention
	if retention == 0 {
		retention = -1
	}
	calls := httpexec.New(httpexec.Config{Workers: store, Clock: system.Clock{}, Allow: given.workers, TTL: given.workerTTL, Memory: given.budget,
		Logger: p.logger()})
	context.AfterFunc(ctx, calls.Close) // when it stops
	says("it brings back the runs that were not finished")
	node, err := local.Start(ctx, local.Config{Definitions: p.definitions, Interpreters: frontend.Interpreters(), Store: store, Logger: p.logger(), Version: deploymentVersion(),
		Worker: fmt.Sprintf("%s/%d", host, os.Getpid()), TokenKey: key, DataFolder: folder, ReplayEach: given.replayEach, Retention: retention,
		Memory: given.budget, AllowWorker: given.workers.Check, WorkerTTL: given.workerTTL,
		Performers: calls.Performers()})
	if err != nil {
		return nil, "", &exit{code: broken, err: err}
	}
	return node, folder, nil
}

func (p *program) logger() *slog.Logger {
	return slog.New(p.redactor.Handler(slog.NewTextHandler(p.err, nil)))
}

// close stops in good order, as far as that goes within its time.
func (p *program) close(s *served) {
	ctx, cancel := context.WithTimeout(context.Background(), stopping)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // its requests have had their time
	}
	closed := make(chan error, 1)
	go func() { closed <- s.node.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			p.say("the data folder was not closed in good order, and is checked at the next start: %v", err)
		}
		p.say("stopped")
	case <-ctx.Done():
		p.say("stopped; activities that do not heed their context were still running, and run again after the next start")
	}
}

// up is the document of dev.
type up struct {
	Address    string   `json:"address"`
	Data       string   `json:"data"`
	Version    string   `json:"version"`
	Workflows  []string `json:"workflows"`
	Activities []string `json:"activities"`
	Rebuilt    rebuilt  `json:"rebuilt"`
}

// announce says that the server is up, and what to type next.
func (p *program) announce(s *served) {
	document := up{Address: s.address, Data: s.data, Version: version(), Workflows: s.node.Workflows(), Activities: s.node.Activities(),
		Rebuilt: rebuilt(s.node.Rebuilt)}
	p.print(document, func(w io.Writer) {
		found, workflows, name := "nothing was under way", "none: give them to program.Main, or publish definitions", "WORKFLOW"
		if r := document.Rebuilt; r != (rebuilt{}) {
			found = r.String()
		}
		if len(document.Workflows) > 0 {
			workflows, name = strings.Join(document.Workflows, ", "), document.Workflows[0]
		}
		client := p.name
		if s.address != "http://"+defaultAddress {
			client += " --address " + strings.TrimPrefix(s.address, "http://")
		}
		fmt.Fprintf(w, "%s %s is up\n  address    %s\n  data       %s\n  workflows  %s\n  rebuilt    %s\n\n", p.name, document.Version, s.address, s.data, workflows, found)
		fmt.Fprintf(w, "In another terminal, type:\n  %s start %s --wait\n  %s list\nCtrl-C stops the server; the runs stay.\n\n", client, name, client)
	})
}
