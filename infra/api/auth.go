package api

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/infra/api/client"
)

// Token lets a caller in that knows its secret. It holds a hash alone, so a reader of a list of
// tokens gets in by none of them.
type Token struct {
	// Name tells people whose it is.
	Name string
	// Role says what the caller may do. Empty: [All].
	Role Role
	// Expires is when the token is no longer good. Zero: it does not expire.
	Expires time.Time
	hash    [sha256.Size]byte
}

// Role says what a caller may do. Of read, operate and all, each includes the one before it.
type Role string

const (
	Read    Role = "read"    // see runs and ask them questions
	Operate Role = "operate" // start runs, send them messages and cancel them, complete activities
	// register workers, send their heartbeats, remove them; operate includes it
	Worker Role = "worker"
	// also what ends, repairs or copies runs (terminate, reset, unblock, rebuild), and publish
	All Role = "all"
)

// Roles are all that there are. From the second on, each has more rights than the one before it.
var Roles = []Role{Worker, Read, Operate, All}

// allows says whether a caller of this role may do what needs another one.
func (r Role) allows(needed Role) bool {
	if needed == Worker && r != Worker {
		needed = Operate
	}
	return r == "" || slices.Index(Roles, r) >= slices.Index(Roles, needed)
}

// secretPrefix has tools that look for secrets in source code and logs find ours.
const secretPrefix = "reprise_"

// shortestSecret is how many characters a secret has at least: a plain hash protects only what
// cannot be guessed.
const shortestSecret = 20

// NewSecret makes a token's secret: 130 random bits.
func NewSecret() string { return secretPrefix + strings.ToLower(rand.Text()) }

// NewToken makes a token of a secret, which must have 20 characters at least. [NewSecret] makes
// one.
func NewToken(name, secret string) (Token, error) {
	switch {
	case name == "" || strings.ContainsAny(name, "#:\r\n\t "):
		return Token{}, fmt.Errorf("a token cannot have the name %q: it must have one, without #, : and white space", name)
	case len(secret) < shortestSecret:
		return Token{}, fmt.Errorf("token %s has %d characters, and must have %d at least, that nobody can guess", name, len(secret), shortestSecret)
	}
	return Token{Name: name, Role: All, hash: sha256.Sum256([]byte(secret))}, nil
}

// String is the token's line in a list of tokens.
func (t Token) String() string {
	line := t.Name + ":" + hex.EncodeToString(t.hash[:])
	if t.Role != "" && t.Role != All {
		line += " role=" + string(t.Role)
	}
	if !t.Expires.IsZero() {
		line += " expires=" + t.Expires.UTC().Format(time.RFC3339)
	}
	return line
}

// ParseTokens reads a list of tokens: on each line a name, a colon and the SHA-256 of the secret in
// hexadecimal. After these may come role=worker, role=read, role=operate or
// role=all, and expires= with a time
// as RFC 3339 has it. Empty lines, and those that begin with #, are for people.
func ParseTokens(list string) (tokens []Token, err error) {
	names := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(list))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		token, err := parseToken(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("line %d %w", number, err)
		}
		if names[token.Name] {
			return nil, fmt.Errorf("line %d names %s again", number, token.Name)
		}
		names[token.Name] = true
		tokens = append(tokens, token)
	}
	return tokens, lines.Err()
}

func parseToken(fields []string) (Token, error) {
	name, text, _ := strings.Cut(fields[0], ":")
	hash, err := hex.DecodeString(text)
	if name == "" || err != nil || len(hash) != sha256.Size {
		return Token{}, errors.New("is not a name, a colon and a SHA-256 in hexadecimal")
	}
	token := Token{Name: name, Role: All, hash: [sha256.Size]byte(hash)}
	for _, field := range fields[1:] {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "role":
			if token.Role = Role(value); !slices.Contains(Roles, token.Role) {
				return Token{}, fmt.Errorf("has the role %q: it must be one of %v", value, Roles)
			}
		case "expires":
			if token.Expires, err = time.Parse(time.RFC3339, value); err != nil {
				return Token{}, fmt.Errorf("expires at %q: it must be a time such as 2027-01-31T00:00:00Z", value)
			}
		default:
			return Token{}, fmt.Errorf("has %q after the hash: only role= and expires= may follow", field)
		}
	}
	return token, nil
}

// authenticate gives the caller's token, or the problem of a request that brings none of the
// server's tokens. An operation on an activity needs no other token than the activity's own.
func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) (*Token, error) {
	if len(h.config.Tokens) == 0 || h.open[r.URL.Path] || h.bringsCompletionToken(r) {
		return &Token{Role: All}, nil
	}
	const realm = `Bearer realm="reprise"`
	secret, brought := secretOf(r)
	if !brought {
		w.Header().Set("WWW-Authenticate", realm)
		return nil, &problemError{http.StatusUnauthorized, client.Unauthenticated, "this server asks who you are: send one of its tokens in the header Authorization: Bearer TOKEN"}
	}
	hash := sha256.Sum256([]byte(secret))
	var known *Token
	for i := range h.config.Tokens { // all of them, so that the time says nothing
		if subtle.ConstantTimeCompare(hash[:], h.config.Tokens[i].hash[:]) == 1 {
			known = &h.config.Tokens[i]
		}
	}
	problem := ""
	switch {
	case known == nil:
		problem = "this server does not know the token that came in the header Authorization"
	case !known.Expires.IsZero() && !time.Now().Before(known.Expires):
		problem = fmt.Sprintf("the token %s expired at %s: ask the operator of this server for another one", known.Name, known.Expires.UTC().Format(time.RFC3339))
	default:
		return known, nil
	}
	w.Header().Set("WWW-Authenticate", realm+`, error="invalid_token"`)
	return nil, &problemError{http.StatusUnauthorized, client.Unauthenticated, problem}
}

// secretOf is the token that a request brings: as a bearer, or as the password of HTTP Basic with
// any user. Some clients can bring no credential other than http://any:TOKEN@host.
func secretOf(r *http.Request) (secret string, brought bool) {
	if _, password, basic := r.BasicAuth(); basic {
		return password, true
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), strings.EqualFold(scheme, "bearer")
}

// bringsCompletionToken says whether a request is for an activity, and names it by a completion
// token that was made here. Its body has not been read.
func (h *Handler) bringsCompletionToken(r *http.Request) bool {
	_, pattern := h.mux.Handler(r)
	if !h.completions[pattern] {
		return false
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/activities/"), "/")
	return h.engine.CheckToken(token) == nil
}

// authorized is the context of a request with the token of its caller.
func authorized(r *http.Request, token *Token) *http.Request {
	if token.Name == "" { // callers need no token here
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), tokenKey{}, token))
}

type tokenKey struct{}

type callerKey struct{}

// By notes in the context of a request who makes it, where a gateway has authenticated the caller.
func By(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// caller names who makes the request: by the token, else by what the gateway noted; "" if neither
// does.
func (c *call) caller() string {
	if token, named := c.r.Context().Value(tokenKey{}).(*Token); named {
		return token.Name
	}
	name, _ := c.r.Context().Value(callerKey{}).(string)
	return name
}

// authorize gives the problem of a caller whose role does not allow the operation.
func (c *call) authorize() error {
	token, named := c.r.Context().Value(tokenKey{}).(*Token)
	if !named || token.Role.allows(c.endpoint.needs()) {
		return nil
	}
	return &problemError{http.StatusForbidden, client.Forbidden,
		fmt.Sprintf("the token %s has the role %s, and this needs the role %s", token.Name, token.Role, c.endpoint.needs())}
}

// needs is the role that the operation needs. Unless it declares another, that is reading for a GET
// of what runs have, all for an operation on the server itself, and operating for everything else.
func (e *endpoint) needs() Role {
	switch {
	case e.role != "":
		return e.role
	case e.tag == serverTag:
		return All
	case e.method == http.MethodGet:
		return Read
	}
	return Operate
}

// serverTag is the tag of operations on the server itself.
const serverTag = "server"
