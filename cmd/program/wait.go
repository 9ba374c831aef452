package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/aws/signing"
)

func (p *program) wait() *cobra.Command {
	failBlocked := false
	command := &cobra.Command{
		Use:   "wait RUN",
		Short: "Wait for a run's end, and show its result",
		Long: "Wait for a run's end, and show its result. What happens meanwhile goes to the standard error: published state, activities " +
			"that are tried again, what the run is blocked for. A blocked run is waited for, too: it goes on once the cause is gone.\n\n" + exitCodes,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeRuns(port.ListQuery{Status: history.Running}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			return p.waitFor(command.Context(), server, args[0], waiting{failBlocked: failBlocked})
		}),
	}
	command.Flags().BoolVar(&failBlocked, "fail-blocked", false, "end with exit code 6 once the run is blocked")
	return command
}

// waiting says how to wait for a run's end.
type waiting struct {
	failBlocked bool // a blocked run ends it
	nodes       bool // show the nodes of a flow as they end, in the place of the state
}

// waitFor waits for a run's end, shows it, and gives the exit code that goes with it.
func (p *program) waitFor(
	ctx context.Context, server *client.Client, run string, how waiting,
) error {
	summary, err := p.follow(ctx, server, run, how)
	switch {
	case ctx.Err() != nil:
		return &exit{code: interrupted, err: fmt.Errorf("no longer waiting; the run goes on, and `%s wait %s` waits again", p.name, run)}
	case err != nil:
		return err
	}
	p.print(summary, func(w io.Writer) {
		if summary.Status == history.Completed {
			fmt.Fprintln(w, pretty(summary.Result))
		}
	})
	if summary.Status.Closed() {
		p.hint("run %s %s after %s", run, summary.Status, span(summary.Closed.Sub(summary.Started)))
		if failure := summary.Failure; failure != nil && failure.Error() != string(summary.Status) {
			p.hint("%s", indent("  ", describeFailure(failure)))
		}
		return exitOf(summary.Status)
	}
	return &exit{code: blocked}
}

// Pauses of one that waits.
const (
	betweenBlocks = time.Second      // before a blocked run is looked at again
	longestOutage = 60 * time.Second // for how long a server may be away that was there before
)

// follow waits for a run's end, or for its being blocked if that is to end it, and shows what happens meanwhile.
func (p *program) follow(
	ctx context.Context, server *client.Client, run string, how waiting,
) (summary *wire.Summary, err error) {
	shown := &progress{program: p, server: server, run: run, state: true, nodes: how.nodes}
	var since time.Time
	for {
		begun := p.now()
		shown.during(ctx, func() { summary, err = server.Wait(ctx, run) })
		if p.now().Sub(begun) > longestOutage { // it was answered for a while: this is another outage
			since = time.Time{}
		}
		switch {
		case err == nil && (summary.Status.Closed() || how.failBlocked):
			shown.show(summary, nil)
			shown.showNodes(ctx, summary)
			return summary, nil
		case err == nil:
			since = time.Time{}
			shown.seen = true
			shown.show(summary, nil)
		case ctx.Err() != nil || !away(err) || !shown.seen:
			return nil, err
		case since.IsZero():
			since = p.now()
			p.say("the server does not answer; trying again for %s", span(longestOutage))
		case p.now().Sub(since) > longestOutage:
			return nil, err
		}
		select {
		case <-time.After(betweenBlocks):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// away says whether an error is that nobody answered who could.
func away(err error) bool {
	noAnswer := (*url.Error)(nil)
	return errors.As(err, &noAnswer) && !errors.Is(err, signing.ErrNoCredentials) ||
		client.CodeOf(err) == port.Unavailable
}
