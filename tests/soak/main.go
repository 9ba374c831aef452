// Command soak keeps the embedded server at the limit of what it takes for half an hour, and says whether it could go on like
// that: whether memory, latency and disk are flat, all that was accepted was done once, and the backlog clears. README.md says
// how it measures, and what counts as growth.
//
// The server is a process of its own: this program again, as `reprise dev` over the workflows of workflows.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/reprise-run/reprise/tests/gauge"
)

// retention is the shortest that the server allows, so that the file reaches its bound early.
const retention = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if len(os.Args) > 1 && os.Args[1] == "dev" {
		os.Exit(serve(ctx))
	}
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	duration time.Duration
	clients  int
	data     string
	keep     bool
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&o.duration, "duration", 30*time.Minute, "how long the load lasts, 2m at least")
	flags.IntVar(&o.clients, "clients", 1, "how many times the usual number of clients")
	flags.StringVar(&o.data, "data", os.TempDir(), "folder for the server's files: a disk with some gigabytes free, not memory")
	flags.BoolVar(&o.keep, "keep", false, "keep the server's files")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q: see -help", flags.Arg(0))
	case o.duration < 2*time.Minute:
		return o, fmt.Errorf("-duration %s: runs are kept for %s, and what comes after that is measured: 2m at least", o.duration, retention)
	case o.clients < 1:
		return o, errors.New("-clients must be at least 1")
	}
	o.data, err = filepath.Abs(o.data)
	return o, err
}

func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	machine, err := gauge.Look(o.data)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, machine)
	folder, err := os.MkdirTemp(o.data, "reprise-soak-")
	if err != nil {
		return err
	}
	if !o.keep {
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	s, err := start(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	return soak(ctx, o, s)
}

// soak puts load on a server, looks at it all the while, and judges.
func soak(ctx context.Context, o options, s *server) error {
	l := newLoad(s.client)
	if err := l.settle(ctx); err != nil {
		return fmt.Errorf("residents: %w", err)
	}
	// Those of the runs that are kept count as warm-up, and a quarter more: the chore, and what the file grows by meanwhile.
	warmUp := max(retention*5/4, o.duration/10)
	w := newWatch(s, l, o.duration, warmUp)
	fmt.Fprintf(os.Stdout, "%s of load after %s of warm-up, a look each %s, runs kept for %s\n\n", o.duration-warmUp, warmUp, w.interval, retention)

	loaded, stop := context.WithTimeout(ctx, o.duration)
	defer stop()
	l.run(loaded, o.clients)
	w.look(loaded)
	l.wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	cleared := clears(ctx, s, l)
	fmt.Fprint(os.Stdout, l.account(), "\n")
	fmt.Fprint(os.Stdout, w.table(), "\n")
	failed := 0
	for _, v := range append(w.verdicts(), l.verdict(), cleared) {
		fmt.Fprintln(os.Stdout, v)
		if !v.good {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of the verdicts are bad", failed)
	}
	return nil
}
