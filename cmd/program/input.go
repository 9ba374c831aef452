package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// jsonHelp says how JSON is given on a command line.
const jsonHelp = "JSON is given as it is, or as @FILE, or as @- from the standard input. Shells take quotes away: put single quotes around it, " +
	"as in '{\"item\":\"book\"}'. A text has its own quotes in these: '\"yes\"'."

// payload reads what was given as JSON, @FILE or @-. What says what it is, for errors. Empty: none.
func (p *program) payload(what, given string) (history.Payload, error) {
	text := []byte(given)
	if file, named := strings.CutPrefix(given, "@"); named {
		var err error
		if text, err = p.readInput(file); err != nil {
			return nil, &exit{code: usage, err: fmt.Errorf("the %s was not read: %w", what, err)}
		}
		what = fmt.Sprintf("%s (%s)", what, given)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if json.Valid(text) {
		return history.Payload(bytes.TrimSpace(text)), nil
	}
	return nil, &exit{code: usage, err: errors.New(wrongJSON(what, text))}
}

func (p *program) readInput(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(p.in)
	}
	return os.ReadFile(file)
}

// wrongJSON says where a text stops being JSON, shows the place, and what usually went wrong.
func wrongJSON(what string, text []byte) string {
	at, reason := int64(len(text)), "it ends too early"
	var value any
	syntax := (*json.SyntaxError)(nil)
	if err := json.Unmarshal(text, &value); errors.As(err, &syntax) {
		if at = max(syntax.Offset-1, 0); !strings.Contains(syntax.Error(), "unexpected end") {
			reason = syntax.Error()
		} else {
			at = int64(len(text))
		}
	}
	before := text[:at]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	message := fmt.Sprintf("the %s is not JSON: line %d, column %d: %s\n", what, line, column, reason)
	message += excerpt(text, int(at), column)
	if !strings.Contains(what, "@") {
		message += advice(string(text))
	}
	return message
}

// excerpt shows the line that holds a place, with a mark under it.
func excerpt(text []byte, at, column int) string {
	const around = 60
	begin := bytes.LastIndexByte(text[:at], '\n') + 1
	end := len(text)
	if next := bytes.IndexByte(text[at:], '\n'); next >= 0 {
		end = at + next
	}
	shown, mark := []rune(string(text[begin:end])), column-1
	if cut := mark - around; cut > 0 {
		shown, mark = shown[cut:], around
	}
	if len(shown) > 2*around {
		shown = shown[:2*around]
	}
	return fmt.Sprintf("  %s\n  %s^\n", string(shown), strings.Repeat(" ", mark))
}

// advice is on what shells do to quotes.
func advice(given string) string {
	switch {
	case strings.ContainsAny(given, "{[") && !strings.Contains(given, `"`):
		return "The shell has taken its double quotes away: put single quotes around it, as in '{\"item\":\"book\"}'; or give it as @FILE."
	case !strings.ContainsAny(given, `{}[]"`):
		quoted, err := json.Marshal(given)
		if err == nil {
			return fmt.Sprintf("A text in JSON has quotes of its own, and the shell takes one pair away: '%s'.", quoted)
		}
	}
	return "Put single quotes around JSON, as in '{\"item\":\"book\"}'; or give it as @FILE."
}

// attributes reads NAME=VALUE: a value that is JSON is that, any other is a text.
func attributes(given []string) (history.Attributes, error) {
	read := history.Attributes{}
	for _, pair := range given {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, &exit{code: usage, err: fmt.Errorf("the attribute %q is not NAME=VALUE", pair)}
		}
		if !json.Valid([]byte(value)) {
			quoted, err := json.Marshal(value)
			if err != nil {
				return nil, &exit{code: usage, err: fmt.Errorf("the attribute %q is not text: %w", pair, err)}
			}
			value = string(quoted)
		}
		read[name] = history.Payload(value)
	}
	return read, nil
}
