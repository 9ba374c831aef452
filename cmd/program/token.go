package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/api"
)

// tokenVariable is where a token's secret may come from: never from a flag, whose value every user
// of a machine can see.
const tokenVariable = "REPRISE_TOKEN"

// made is the document of token.
type made struct {
	Name    string    `json:"name"`
	Role    api.Role  `json:"role"`
	Expires time.Time `json:"expires,omitzero"`
	// Token is the secret: it is nowhere else. Empty where it was written to a file.
	Token string `json:"token,omitempty"`
	// TokenFile is the file that it was written to.
	TokenFile string `json:"tokenFile,omitempty"`
	File      string `json:"file"`
}

// tokenFlags are those of token.
type tokenFlags struct {
	list, role string
	expiresIn  time.Duration
}

func (p *program) token() *cobra.Command {
	given := tokenFlags{}
	command := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token that lets a caller use a server",
		Long: "Make a token that lets a caller use a server. It adds a line to a list of tokens, " +
			"which dev takes as --auth-tokens, and prints the " +
			"token, or writes it to the new file that --token-file names, which only its owner " +
			"may read. The list has a hash of the token alone, " +
			"so it is shown this once. To revoke a token, delete its line and restart the " +
			"server.\n\n" +
			"Roles: read sees runs and asks queries; operate also starts runs, sends messages, " +
			"cancels, and completes activities; all also " +
			"terminates, resets, unblocks and rebuilds. worker registers workers, sends their " +
			"heartbeats and removes them, and nothing else; operate includes it.",
		Example: "  " + p.name + " token ada --auth-tokens tokens --token-file ada.token\n" +
			"  " + p.name + " token dashboard --auth-tokens tokens --role read --expires-in 2160h",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			return p.makeToken(command, args[0], given)
		},
	}
	command.Flags().StringVar(&given.list, "auth-tokens", "",
		"the list of tokens, which is made where it is missing")
	command.Flags().StringVar(&given.role, "role", string(api.All),
		"what the token allows: worker, read, operate or all")
	command.Flags().DurationVar(&given.expiresIn, "expires-in", 0,
		"how long the token is good, 2160h for example; 0: it does not expire")
	complete(command, "role", string(api.Worker), string(api.Read), string(api.Operate),
		string(api.All))
	return command
}

func (p *program) makeToken(command *cobra.Command, name string, given tokenFlags) error {
	switch {
	case given.list == "":
		return misuse(command, errors.New("--auth-tokens names the list of tokens that gets one more"))
	case !slices.Contains(api.Roles, api.Role(given.role)):
		return misuse(command, fmt.Errorf("--role %q: it must be one of %v", given.role, api.Roles))
	case given.expiresIn < 0:
		return misuse(command, fmt.Errorf("--expires-in %s: it must be 0 or more", given.expiresIn))
	}
	secret := api.NewSecret()
	token, err := api.NewToken(name, secret)
	if err != nil {
		return misuse(command, err)
	}
	if token.Role = api.Role(given.role); given.expiresIn > 0 {
		token.Expires = p.now().Add(given.expiresIn).UTC().Truncate(time.Second)
	}
	if err := p.keepSecret(secret); err != nil {
		return err
	}
	if err := addToken(given.list, token); err != nil {
		if p.tokenFile != "" {
			err = errors.Join(err, os.Remove(p.tokenFile))
		}
		return err
	}
	document := made{Name: token.Name, Role: token.Role, Expires: token.Expires, Token: secret, TokenFile: p.tokenFile, File: given.list}
	if p.tokenFile != "" {
		document.Token = ""
	}
	p.print(document, func(w io.Writer) {
		if document.Token != "" {
			fmt.Fprintln(w, secret)
		}
	})
	p.hint("a server that is started with --auth-tokens %s lets %s in by it; clients take it from %s or --token-file", given.list, token.Name, tokenVariable)
	return nil
}

// keepSecret writes a secret to the file of --token-file, if there is one, with the mode that
// clients ask for.
func (p *program) keepSecret(secret string) error {
	if p.tokenFile == "" {
		return nil
	}
	file, err := os.OpenFile(p.tokenFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &exit{code: refused, err: fmt.Errorf("%s exists: choose another file for the token", p.tokenFile)}
	}
	if err == nil {
		_, err = fmt.Fprintln(file, secret)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return &exit{code: broken, err: fmt.Errorf("the token was not written: %w", err)}
	}
	return nil
}

// addToken adds a line to a list of tokens.
func addToken(file string, token api.Token) error {
	tokens, err := readTokens(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, other := range tokens {
		if other.Name == token.Name {
			return &exit{code: refused, err: fmt.Errorf("%s has a token for %s already: choose another name, or take its line out first", file, token.Name)}
		}
	}
	list, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(list, token)
		err = errors.Join(err, list.Sync(), list.Close())
	}
	if err != nil {
		return &exit{code: broken, err: fmt.Errorf("the list of tokens was not written: %w", err)}
	}
	return nil
}

// readTokens reads a list of tokens. Whoever may write it lets in whom they like.
func readTokens(file string) ([]api.Token, error) {
	text, err := readPrivate(file, 0o022, "write")
	if err != nil {
		return nil, err
	}
	tokens, err := api.ParseTokens(text)
	if err != nil {
		return nil, &exit{code: usage, err: fmt.Errorf("%s is no list of tokens: %w", file, err)}
	}
	return tokens, nil
}

// readPrivate reads a file of which other users may not do what the bits of its mode stand for.
// Windows has other means.
func readPrivate(file string, others fs.FileMode, do string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", &exit{code: usage, err: err}
	}
	if info.Mode().Perm()&others != 0 && runtime.GOOS != "windows" {
		return "", &exit{code: usage, err: fmt.Errorf("others may %s %s: chmod %o %s", do, file, info.Mode().Perm()&^others, file)}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", &exit{code: usage, err: err}
	}
	return string(text), nil
}

// clientToken finds the token that a client sends; empty if there is none.
func (p *program) clientToken() (string, error) {
	if p.tokenFile == "" {
		return os.Getenv(tokenVariable), nil
	}
	text, err := readPrivate(p.tokenFile, 0o077, "read or write")
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(text)
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", &exit{code: usage, err: fmt.Errorf("%s does not hold one token, and nothing else", p.tokenFile)}
	}
	return token, nil
}

// serverTokens are those that dev lets in with; none: it asks nobody.
func serverTokens(list string) ([]api.Token, error) {
	if list != "" {
		tokens, err := readTokens(list)
		if err == nil && len(tokens) == 0 {
			err = &exit{code: usage, err: fmt.Errorf("%s lists no token", list)}
		}
		return tokens, err
	}
	secret := os.Getenv(tokenVariable)
	if secret == "" {
		return nil, nil
	}
	token, err := api.NewToken(tokenVariable, secret)
	if err != nil {
		return nil, &exit{code: usage, err: err}
	}
	return []api.Token{token}, nil
}
