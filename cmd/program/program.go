// Package program is what a module with workflows of its own is made into a program with. Its main function is
//
//	func main() { program.Main(shipping.Workflow, shipping.Reserve, shipping.Charge) }
//
// and the program then is the server that runs them (dev), the client that talks to it (start, list, history, …), and the
// check that a change of their code is safe for the runs that are under way (replay).
//
// Each verb has a file here. What they say to people goes to the standard error, what they find out to the standard output,
// as text or, with --output json, as one JSON document.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/redact"
)

// Main runs the program over its definitions and ends the process. The first interrupt, or SIGTERM, stops what it does in
// good order; a second one ends it at once.
func Main(definitions ...workflow.Definition) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on, a signal does what it does by default
	_, file, _, _ := runtime.Caller(1)
	os.Exit(run(ctx, filepath.Dir(file), os.Args, os.Stdin, os.Stdout, os.Stderr, definitions))
}

// Run is Main without the process: args are as os.Args has them, the program's name first; the result is the exit code.
// The end of ctx stands for the first interrupt.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, definitions ...workflow.Definition) int {
	return run(ctx, "", args, stdin, stdout, stderr, definitions)
}

func run(ctx context.Context, source string, args []string, stdin io.Reader, stdout, stderr io.Writer, definitions []workflow.Definition) int {
	if len(args) == 0 {
		args = []string{"reprise"}
	}
	p := &program{name: filepath.Base(args[0]), source: source, definitions: definitions, in: stdin, out: &visible{to: stdout}, err: &shared{to: &visible{to: stderr}}, now: time.Now,
		redactor: redact.New(strings.Split(os.Getenv(redactNames), ",")...)}
	root := p.root()
	root.SetArgs(unflagged(args[1:]))
	err := root.ExecuteContext(ctx)
	return p.report(err)
}

// shared is a writer for several goroutines: a server's log lines come while it says something itself.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(text)
}

// unflagged keeps negative numbers, which are JSON, from being taken for flags: white space before them means nothing.
func unflagged(args []string) []string {
	kept := slices.Clone(args)
	for i, arg := range kept {
		if len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9' {
			kept[i] = " " + arg
		}
	}
	return kept
}

// redactNames is the variable that adds to the names whose values are not shown: redact.New says how they fit.
const redactNames = "REPRISE_REDACT"

// program is one call of the command line.
type program struct {
	name        string
	source      string // folder of the main package's source, as the compiler saw it; empty if it is not known
	definitions []workflow.Definition
	in          io.Reader
	out, err    io.Writer
	now         func() time.Time

	redactor  *redact.Redactor
	reveal    bool
	address   string
	sign      string
	tokenFile string
	plainHTTP bool
	output    format
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   p.name,
		Short: "Durable workflows: the server, and everything one does with its runs",
		Long: "Durable workflows: the server, and everything one does with its runs.\n\n" +
			"Clients find the server by --address, else by the variable REPRISE_ADDRESS, else at " + defaultAddress + ". Requests to an API Gateway of AWS " +
			"(a host of execute-api) are signed with the credentials of the environment, as those of the aws command are; for other hosts, --sign or " +
			"REPRISE_SIGN has them signed. A server that asks for a token is sent that of --token-file, else that of the variable " + tokenVariable + "; " +
			"SSL_CERT_FILE names certificates to trust in the place of the system's.\n\n" + exitCodes,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(misuse)
	root.PersistentFlags().StringVar(&p.address, "address", "", "the server, as HOST:PORT or a URL (default $REPRISE_ADDRESS, else "+defaultAddress+")")
	root.PersistentFlags().StringVar(&p.sign, "sign", "", "sign requests for AWS, for a `REGION` or the usual one; no: never (default $REPRISE_SIGN, else for hosts of execute-api)")
	root.PersistentFlags().Lookup("sign").NoOptDefVal = signAsUsual
	root.PersistentFlags().StringVar(&p.tokenFile, "token-file", "", "the file with the token for a server that asks for one, which the verb token writes (default $"+tokenVariable+")")
	root.PersistentFlags().BoolVar(&p.plainHTTP, "plain-http", false, "let tokens and all else go over plain HTTP beyond this machine: something else encrypts there")
	root.PersistentFlags().VarP(&p.output, "output", "o", "text for people, or json: one document")
	root.PersistentFlags().BoolVar(&p.reveal, "reveal", false, "show what looks like a secret: values of password, token, apiKey and the like (and of $"+redactNames+", with commas between)")
	complete(root, "output", "text", "json")
	complete(root, "sign", signAsUsual, signNothing)
	root.AddGroup(&cobra.Group{ID: "server", Title: "Server:"}, &cobra.Group{ID: "runs", Title: "Runs:"},
		&cobra.Group{ID: "messages", Title: "Messages to a run:"}, &cobra.Group{ID: "repair", Title: "Ending and repairing runs:"},
		&cobra.Group{ID: "code", Title: "Code:"})
	for _, group := range []struct {
		id       string
		commands []*cobra.Command
	}{
		{"server", []*cobra.Command{p.dev(), p.serveVerb(), p.proxy(), p.token(), p.doctor(),
			p.rebuild(), p.backup(), p.worker(), p.registered()}},
		{"runs", []*cobra.Command{p.start(), p.list(), p.get(), p.history(), p.wait()}},
		{"messages", []*cobra.Command{p.signal(), p.update(), p.query(), p.complete(), p.fail()}},
		{"repair", []*cobra.Command{p.cancel(), p.terminate(), p.reset(), p.unblock()}},
		{"code", []*cobra.Command{p.publish(), p.validate(), p.published(), p.flow(), p.replay(),
			p.decrypt(), p.version()}},
	} {
		for _, command := range group.commands {
			command.GroupID = group.id
			command.Args = explained(command.Args)
			root.AddCommand(command)
		}
	}
	return root
}

// explained has a wrong number of arguments answered with how the command is used.
func explained(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return misuse(command, err)
		}
		return nil
	}
}

func misuse(command *cobra.Command, err error) error {
	return &exit{code: usage, err: fmt.Errorf("%w\nusage: %s\n%s --help says more", err, command.UseLine(), command.CommandPath())}
}

// report says what went wrong, and gives the exit code.
func (p *program) report(err error) int {
	if err == nil {
		return 0
	}
	failed := (*exit)(nil)
	if !errors.As(err, &failed) {
		failed = &exit{code: usage, err: err} // of cobra's own: an unknown command
	}
	if failed.err == nil { // said already
		return failed.code
	}
	if p.output == asJSON {
		document := map[string]any{"code": failed.name(), "message": failed.err.Error()}
		if failed.problems != nil {
			document["problems"] = failed.problems
		}
		writeJSON(p.err, map[string]any{"error": document})
		return failed.code
	}
	fmt.Fprintf(p.err, "%s: %s\n", p.name, strings.TrimSpace(failed.err.Error()))
	return failed.code
}
