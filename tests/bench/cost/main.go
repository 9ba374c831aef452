// Command cost counts what activities cost on AWS: requests, DynamoDB's read and write units, SQS's messages, at list prices,
// beside what others ask. The real handlers and adapters run over DynamoDB Local; queues are in memory and count (tests/cloud).
//
//	make bench-cost
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/reprise-run/reprise/tests/cloud"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cost", flag.ContinueOnError)
	long := flags.Int("long", 0, "instead of all this, one run of so many inline steps, and its replay by a function that does not know it")
	only := flags.String("only", "", "count the workloads whose names contain this, and nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	database, err := cloud.StartDatabase(ctx)
	if err != nil {
		return err
	}
	defer database.Stop()
	if *long > 0 {
		return longRun(ctx, database, *long, out)
	}
	var costs []cost
	for _, w := range workloads {
		if !strings.Contains(w.name, *only) {
			continue
		}
		c, err := measure(ctx, database, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		costs = append(costs, c)
	}
	report(out, costs)
	if *only != "" {
		return nil
	}
	sizes, err := functions(ctx, database)
	if err != nil {
		return err
	}
	reportFunctions(out, sizes)
	return nil
}
