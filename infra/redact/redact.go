// Package redact keeps what looks like a secret out of what people are shown: logs, and what the command line prints.
//
// It goes by names: the value of password, apiKey or authorization is not shown, wherever it stands, in JSON or in words. It is no
// protection of what is stored: a log of a run keeps exact values, since a replay must find what the first run saw. What must not be
// read where it is stored is sealed (core/seal); what must not be stored at all is not passed through a workflow: pass its
// name, and have the activity look it up, in its environment or a secret store.
package redact

import (
	"regexp"
	"strings"
)

// Hidden stands for what is not shown.
const Hidden = "[redacted]"

// usual are names whose values are secrets nearly always.
func usual() []string {
	return []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "authorization", "cookie", "credential", "api key", "access key", "private key"}
}

// Redactor knows names. It is safe for concurrent use.
type Redactor struct{ keys *regexp.Regexp }

// New knows the usual names, and more. A name fits a key that ends with it, in whatever case and with - or _ between its words:
// "api key" fits apiKey, X-Api-Key and STRIPE_API_KEYS, "token" fits accessToken, not tokenCount. Empty ones are left out.
func New(more ...string) *Redactor {
	var names []string
	for _, name := range append(usual(), more...) {
		var words []string
		for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == ' ' || c == '-' || c == '_' }) {
			words = append(words, regexp.QuoteMeta(word))
		}
		if len(words) > 0 {
			names = append(names, strings.Join(words, `[-_ ]?`))
		}
	}
	// A key, its closing quote, if it has one, which may be escaped, as JSON within JSON is; and what stands between key and value.
	return &Redactor{regexp.MustCompile(`(?i)[\w.-]*(?:` + strings.Join(names, "|") + `)s?(\\*["'])?\s*[:=]\s*`)}
}

// Key says whether the value of this name is hidden.
func (r *Redactor) Key(name string) bool { return r.keys.FindString(name+"=") == name+"=" }

// Text gives a text with values hidden. JSON stays JSON.
func (r *Redactor) Text(text string) string {
	var out strings.Builder
	for {
		found := r.keys.FindStringSubmatchIndex(text)
		if found == nil {
			break
		}
		begin := found[1]
		end := begin + valueEnd(text[begin:])
		quote := ""
		if found[2] >= 0 {
			quote = text[found[2]:found[3]]
		}
		out.WriteString(text[:begin])
		if end > begin {
			out.WriteString(quote + Hidden + quote)
		}
		text = text[end:]
	}
	if out.Len() == 0 {
		return text
	}
	return out.String() + text
}

// valueEnd is where the value ends that a text begins with: a string, an object or list with all that is in it, or a word, with the
// scheme before it that an authorization has.
func valueEnd(text string) int {
	if text == "" {
		return 0
	}
	escapes := len(text) - len(strings.TrimLeft(text, `\`))
	switch c := text[escapes:]; {
	case c != "" && (c[0] == '"' || c[0] == '\''):
		return stringEnd(text, text[:escapes+1])
	case text[0] == '{' || text[0] == '[':
		return bracketEnd(text)
	}
	end := wordEnd(text)
	if scheme := strings.ToLower(text[:end]); (scheme == "bearer" || scheme == "basic" || scheme == "digest") && end < len(text) && text[end] == ' ' {
		end += 1 + wordEnd(text[end+1:])
	}
	return end
}

func wordEnd(text string) int {
	if end := strings.IndexAny(text, " \t\r\n,;&\"'}])"); end >= 0 {
		return end
	}
	return len(text)
}

// stringEnd is where a string ends that begins with a quote, escaped or not. One that does not end, as in an excerpt, ends with its line.
func stringEnd(text, quote string) int {
	for at := len(quote); at < len(text); at++ {
		switch {
		case strings.HasPrefix(text[at:], quote):
			return at + len(quote)
		case text[at] == '\\':
			at += len(quote) // what is escaped once more than the quote
		case text[at] == '\n':
			return at
		}
	}
	return len(text)
}

// bracketEnd is where an object or a list ends.
func bracketEnd(text string) int {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		case '"':
			at += stringEnd(text[at:], `"`) - 1
		}
	}
	return len(text)
}
