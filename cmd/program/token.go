package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/api"
)

// tokenVariable is where a token's secret may come from: never from a flag, whose value every user of a machine can see.
const tokenVariable = "REPRISE_TOKEN"

// made is the document of token.
type made struct {
	Name string `json:"name"`
	// Token is the secret: it is nowhere else.
	Token string `json:"token"`
	File  string `json:"file"`
}

func (p *program) token() *cobra.Command {
	file := ""
	command := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token that lets somebody use a server",
		Long: "Make a token that lets somebody use a server: adds a line to a list of tokens, which dev takes as --auth-tokens, and prints the " +
			"token. The list has a hash of it alone, so it is shown this once. Who is to be let in no more loses their line; servers read the list " +
			"when they start.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			if file == "" {
				return misuse(command, errors.New("--auth-tokens names the list of tokens that gets one more"))
			}
			secret := api.NewSecret()
			token, err := api.NewToken(args[0], secret)
			if err != nil {
				return misuse(command, err)
			}
			if err := addToken(file, token); err != nil {
				return err
			}
			p.print(made{token.Name, secret, file}, func(w io.Writer) { fmt.Fprintln(w, secret) })
			p.hint("%s is let in by it, once a server is started with --auth-tokens %s; clients take it from %s or --token-file", token.Name, file, tokenVariable)
			return nil
		},
	}
	command.Flags().StringVar(&file, "auth-tokens", "", "the list of tokens, which is made where it is missing")
	return command
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

// readPrivate reads a file of which other users may not do what the bits of its mode stand for. Windows has other means.
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
