package api

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/reprise-run/reprise/infra/api/client"
)

// Token lets somebody in who says its secret. It holds a hash alone, so who reads a list of tokens gets in by none of them.
type Token struct {
	// Name tells people whose it is.
	Name string
	hash [sha256.Size]byte
}

// secretPrefix has tools that look for secrets in source code and logs find ours.
const secretPrefix = "reprise_"

// shortestSecret is how many characters a secret has at least: a plain hash protects only what cannot be guessed.
const shortestSecret = 20

// NewSecret makes a token's secret: 130 random bits.
func NewSecret() string { return secretPrefix + strings.ToLower(rand.Text()) }

// NewToken makes a token of a secret, which must have 20 characters at least. [NewSecret] makes one.
func NewToken(name, secret string) (Token, error) {
	switch {
	case name == "" || strings.ContainsAny(name, "#:\r\n\t "):
		return Token{}, fmt.Errorf("a token cannot have the name %q: it must have one, without #, : and white space", name)
	case len(secret) < shortestSecret:
		return Token{}, fmt.Errorf("token %s has %d characters, and must have %d at least, that nobody can guess", name, len(secret), shortestSecret)
	}
	return Token{name, sha256.Sum256([]byte(secret))}, nil
}

// String is the token's line in a list of tokens.
func (t Token) String() string { return t.Name + ":" + hex.EncodeToString(t.hash[:]) }

// ParseTokens reads a list of tokens: on each line a name, a colon and the SHA-256 of the secret in hexadecimal. Empty lines,
// and those that begin with #, are for people.
func ParseTokens(list string) (tokens []Token, err error) {
	names := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(list))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, text, _ := strings.Cut(line, ":")
		hash, err := hex.DecodeString(text)
		if name == "" || err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf("line %d is not a name, a colon and a SHA-256 in hexadecimal", number)
		}
		if names[name] {
			return nil, fmt.Errorf("line %d names %s again", number, name)
		}
		names[name] = true
		tokens = append(tokens, Token{name, [sha256.Size]byte(hash)})
	}
	return tokens, lines.Err()
}

// authenticate gives the problem of a request that brings none of the server's tokens.
func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) error {
	if len(h.config.Tokens) == 0 || h.open[r.URL.Path] {
		return nil
	}
	const realm = `Bearer realm="reprise"`
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		w.Header().Set("WWW-Authenticate", realm)
		return &problemError{http.StatusUnauthorized, client.Unauthenticated, "this server asks who you are: send one of its tokens in the header Authorization: Bearer TOKEN"}
	}
	hash := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	known := 0
	for i := range h.config.Tokens {
		known |= subtle.ConstantTimeCompare(hash[:], h.config.Tokens[i].hash[:])
	}
	if known == 0 {
		w.Header().Set("WWW-Authenticate", realm+`, error="invalid_token"`)
		return &problemError{http.StatusUnauthorized, client.Unauthenticated, "this server does not know the token that came in the header Authorization"}
	}
	return nil
}
