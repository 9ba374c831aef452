// Command mutants changes a package in many small ways and prints the changes that no test
// notices. It drops statements and cases, forces conditions, swaps < and <=, hides errors, and
// leaves fields empty. tests/mutation has rules that people took out; this program knows no rule.
//
// One build has all mutants. An environment variable switches one of them on. At first each test
// runs alone, without a mutant, and notes the mutants that it reaches. Only with those it runs again.
//
// A survivor is a question. A test may be missing, the code may not be needed, or the change may
// make no difference.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// options of a run.
type options struct {
	pkg    string
	files  *regexp.Regexp
	only   *regexp.Regexp
	suites []string // as newSuite reads them
	most   int
	seed   uint64
	atOnce int
}

func main() {
	var o options
	flag.StringVar(&o.pkg, "pkg", "./core/engine", "the `package` to change")
	files := flag.String("files", ".", "a regular `expression`: the files of the package to change")
	only := flag.String("only", ".", "a regular `expression`: the changes to try, as printed")
	also := flag.String("also", "",
		"`tests` beside the package's own, between commas: PACKAGE [EXPRESSION [FLAGS...]]")
	flag.IntVar(&o.most, "n", 1_000_000, "how many mutants are drawn")
	flag.Uint64Var(&o.seed, "seed", 1, "what draws them")
	flag.IntVar(&o.atOnce, "at-once", 2, "how many are tried at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	o.only, err = regexp.Compile(*only)
	if err == nil {
		o.files, err = regexp.Compile(*files)
	}
	if err == nil {
		o.suites = append(o.suites, o.pkg)
		for _, suite := range strings.Split(*also, ",") {
			if strings.TrimSpace(suite) != "" {
				o.suites = append(o.suites, suite)
			}
		}
		err = try(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// try tries the mutants, and prints the survivors.
func try(ctx context.Context, o options) (err error) {
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	pkg, err := load(o.pkg, nil)
	if err != nil {
		return err
	}
	drawn, err := mutantsOf(pkg, o)
	if err != nil {
		return err
	}
	changed, mutants, err := instrument(o.pkg, pkg, drawn)
	if err != nil {
		return err
	}
	overlay, err := writeOverlay(work, changed)
	if err != nil {
		return err
	}
	var suites []*suite
	for _, named := range o.suites {
		s, err := newSuite(ctx, named, overlay, work)
		if err != nil {
			return err
		}
		if err := s.measure(ctx, work); err != nil {
			return err
		}
		suites = append(suites, s)
	}
	total := len(mutants)
	fmt.Fprintf(os.Stderr, "%d mutants, %d more do not compile\n", total, len(drawn)-total)
	began := time.Now()
	var mu sync.Mutex
	killed := 0
	var trying errgroup.Group
	trying.SetLimit(o.atOnce)
	for _, m := range mutants {
		trying.Go(func() error {
			fate := fateOf(ctx, m, suites)
			mu.Lock()
			defer mu.Unlock()
			if fate == "" {
				killed++
			} else if ctx.Err() == nil {
				fmt.Fprintf(os.Stdout, "%s (%s)\n", m, fate)
			}
			return ctx.Err()
		})
	}
	err = trying.Wait()
	took := time.Since(began).Round(time.Second)
	fmt.Fprintf(os.Stdout, "%d of %d mutants were noticed, in %s\n", killed, total, took)
	return err
}

// fateOf says how a mutant survived. It is empty where a test noticed the mutant.
func fateOf(ctx context.Context, m *mutant, suites []*suite) string {
	fate := "no test comes here"
	for _, s := range suites {
		killed, reached := s.kills(ctx, m)
		if killed {
			return ""
		}
		if reached {
			fate = "survives"
		}
	}
	return fate
}
