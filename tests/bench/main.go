// Command bench puts load on the embedded server and prints what came of it beside the aims. It is no test: nothing fails
// because it is slow. README.md says how it measures, and keeps the figures.
//
// The server is a process of its own (this program again, see server.go) that runs what `reprise dev` runs, on a fresh file,
// and is reached over HTTP on the loopback interface, or driven from inside, where a workload says so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/reprise-run/reprise/tests/gauge"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only                   string
	repeat                 int
	workflows, inFlight    int
	longest, waiting       int
	tasks, approvalsOpen   int
	data, profile          string
	json, readme           string
	serve, profileOfServer string
}

// workload is one thing to measure, on servers of its own.
type workload struct {
	name string
	run  func(*bench) error
	once bool // it takes long and varies little, so it is not repeated
}

var workloads = []workload{
	{name: "inline", run: func(b *bench) error { return b.sequences("inline") }},
	{name: "queued", run: func(b *bench) error { return b.sequences("queued") }},
	{name: "fan-out", run: (*bench).fanOut},
	{name: "long", run: (*bench).long},
	{name: "timer", run: (*bench).timer},
	{name: "mail", run: (*bench).mail},
	{name: "flows", run: (*bench).flows},
	{name: "approvals", run: (*bench).approvals, once: true},
	{name: "suspended", run: (*bench).suspended, once: true},
	{name: "timers", run: (*bench).timers, once: true},
	{name: "restart", run: (*bench).restart, once: true},
	{name: "concurrent", run: (*bench).concurrent},
	{name: "replay", run: (*bench).replay},
}

// bench is one call of the command.
type bench struct {
	context.Context
	options
	figures figures
	workload
}

func run(ctx context.Context, args []string) error {
	b := &bench{Context: ctx}
	if err := b.parse(args); err != nil {
		return err
	}
	if b.serve != "" {
		return serve(ctx, b.serve, b.profileOfServer)
	}
	m, err := gauge.Look(b.data)
	if err != nil {
		return err
	}
	fmt.Println(m)
	failed := b.runAll()
	fmt.Println(b.figures.text())
	if failed != nil {
		return failed
	}
	if b.json != "" {
		if err := writeJSON(b.json, m, b.figures); err != nil {
			return err
		}
	}
	if b.readme != "" {
		return replaceSection(b.readme, "figures", m.Markdown()+"\n"+b.figures.markdown())
	}
	return nil
}

// runAll runs what was chosen, all of it once and then again, so that a bad minute does not hit one workload alone.
func (b *bench) runAll() error {
	chosen := strings.Split(b.only, ",")
	for i := range b.repeat {
		for _, w := range workloads {
			if b.only != "" && !slices.Contains(chosen, w.name) || w.once && i > 0 {
				continue
			}
			fmt.Fprintf(os.Stderr, "%d/%d %s\n", i+1, b.repeat, w.name)
			b.workload = w
			if err := w.run(b); err != nil {
				return fmt.Errorf("workload %s: %w", w.name, err)
			}
		}
	}
	return nil
}

func (b *bench) parse(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	names := make([]string, 0, len(workloads))
	for _, w := range workloads {
		names = append(names, w.name)
	}
	flags.StringVar(&b.only, "only", "", "workloads to run, with commas between them: "+strings.Join(names, ", "))
	flags.IntVar(&b.repeat, "repeat", 3, "how often to run each; medians are printed")
	flags.IntVar(&b.workflows, "workflows", 2000, "workflows of 10 activities in inline and queued")
	flags.IntVar(&b.inFlight, "in-flight", 50, "how many of them at a time")
	flags.IntVar(&b.longest, "long", 10_000, "activities of the longest single run in long")
	flags.IntVar(&b.waiting, "suspended", 100_000, "runs that wait in suspended")
	flags.IntVar(&b.tasks, "flows", 1000, "runs of 10 nodes in flows")
	flags.IntVar(&b.approvalsOpen, "approvals", 10_000, "flows that wait in approvals")
	flags.StringVar(&b.data, "data", os.TempDir(), "folder for the server's files: it says which disk is measured")
	flags.StringVar(&b.profile, "profile", "", "folder for a CPU and a heap profile of every server")
	flags.StringVar(&b.json, "json", "", "file for the figures as JSON")
	flags.StringVar(&b.readme, "readme", "", "file whose section of figures is replaced")
	flags.StringVar(&b.serve, "serve", "", "for its own use: be the server on this folder")
	flags.StringVar(&b.profileOfServer, "profile-server", "", "for its own use: the profiles of this server, without extension")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: see -help", flags.Arg(0))
	}
	for name := range strings.SplitSeq(b.only, ",") {
		if name != "" && !slices.Contains(names, name) {
			return fmt.Errorf("there is no workload %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	if b.repeat < 1 || b.workflows < 1 || b.inFlight < 1 {
		return errors.New("-repeat, -workflows and -in-flight must be at least 1")
	}
	data, err := filepath.Abs(b.data)
	b.data = data
	return err
}
