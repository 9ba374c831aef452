package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// stopping limits how long a server takes to stop in good order. What is left then is taken up at the next start.
const stopping = 10 * time.Second

// devFlags are those of dev.
type devFlags struct {
	listen, data string
	insecure     bool
	keys         string // a file
}

func (p *program) dev() *cobra.Command {
	given := devFlags{}
	command := &cobra.Command{
		Use:   "dev",
		Short: "Run the server: the whole system in this process",
		Long: "Run the server: the whole system in this process. Runs are kept in a folder, and go on from there at the next start.\n\n" +
			"An interrupt (Ctrl-C) or SIGTERM stops it within " + stopping.String() + "; a second one ends it at once, and does no harm either.\n\n" +
			"With --encryption-key, values are sealed before they are stored: the folder then says what happened, and nothing of inputs, results and messages. " + keyHelp,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.serve(command.Context(), command, given)
		},
	}
	flags := command.Flags()
	flags.StringVar(&given.listen, "listen", defaultAddress, "where to listen, HOST:PORT; port 0 takes one that is free")
	flags.StringVar(&given.data, "data", "", "the folder that keeps the runs (default: "+p.name+" in $XDG_STATE_HOME, else in ~/.local/state)")
	flags.BoolVar(&given.insecure, "insecure", false, "listen beyond this machine, though nobody is asked who they are")
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
	server   *http.Server
	listener net.Listener
	failed   chan error
}

func (p *program) serve(ctx context.Context, command *cobra.Command, given devFlags) error {
	if err := p.checkListen(ctx, given); err != nil {
		return misuse(command, err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(local.GCPercent)
	}
	s, err := p.open(ctx, given)
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

// checkListen refuses to listen where others than this machine's users could reach a server that does not ask who they are.
func (p *program) checkListen(ctx context.Context, given devFlags) error {
	host, _, err := net.SplitHostPort(given.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: it is HOST:PORT, as in %s", given.listen, defaultAddress)
	}
	if given.insecure {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	beyond := err != nil || len(addresses) == 0
	for _, address := range addresses {
		beyond = beyond || !address.IP.IsLoopback()
	}
	if beyond {
		return fmt.Errorf("--listen %s could be reached from beyond this machine, and this server does not ask who somebody is: whoever reaches it "+
			"can start, read and end runs\nlisten on 127.0.0.1 or localhost and put something in front that asks, or say --insecure", given.listen)
	}
	return nil
}

// open starts everything, or nothing.
func (p *program) open(ctx context.Context, given devFlags) (s *served, err error) {
	s = &served{failed: make(chan error, 1)}
	if s.listener, err = listen(ctx, given.listen); err != nil {
		return nil, err
	}
	codec, err := p.codec(given.keys)
	if err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	s.address = "http://" + s.listener.Addr().String()
	if s.node, s.data, err = p.openNode(ctx, given.data, codec); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	begun := p.now()
	s.handler, err = api.New(api.Config{Engine: s.node.Engine, Version: version(), Logger: p.logger(), Backlog: s.node.Backlog, Seal: codec,
		Uptime: func() time.Duration { return p.now().Sub(begun) }})
	if err != nil {
		return nil, errors.Join(err, s.listener.Close(), s.node.Close())
	}
	s.server = s.handler.Server(s.listener.Addr().String())
	go func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
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
func (p *program) openNode(ctx context.Context, data string, codec seal.Codec) (*local.Node, string, error) {
	folder, err := p.dataFolder(data)
	if err != nil {
		return nil, "", err
	}
	store, err := sqlite.Open(filepath.Join(folder, "reprise.db"), sqlite.Options{Codec: codec})
	if err != nil {
		code := broken
		if strings.Contains(err.Error(), "in use") {
			code = refused
		}
		if errors.Is(err, history.ErrUnreadable) {
			return nil, "", &exit{code: usage, err: fmt.Errorf("%w\n--encryption-key or %s names the file with the keys", err, keyFile)}
		}
		return nil, "", &exit{code: code, err: fmt.Errorf("%w (--data chooses another folder)", err)}
	}
	key, err := p.tokenKey(folder)
	if err != nil {
		return nil, "", errors.Join(err, store.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	node, err := local.Start(ctx, local.Config{Definitions: p.definitions, Store: store, Logger: p.logger(), Version: version(),
		Worker: fmt.Sprintf("%s/%d", host, os.Getpid()), TokenKey: key})
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
		found, workflows, name := "nothing was under way", "none: give them to program.Main", "WORKFLOW"
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
