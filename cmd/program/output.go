package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/history"
)

// format is what --output takes.
type format string

const (
	asText format = "text"
	asJSON format = "json"
)

// String is the flag's value.
func (f *format) String() string {
	if *f == "" {
		return string(asText)
	}
	return string(*f)
}

// Set takes a value from the command line.
func (f *format) Set(value string) error {
	switch format(value) {
	case asText, asJSON:
		*f = format(value)
		return nil
	}
	return errors.New("it is text or json")
}

// Type is what help calls the value.
func (f *format) Type() string { return "FORMAT" }

// widest is how long JSON may be to stay on one line for people.
const widest = 100

// print gives a verb's outcome: the document, or what text writes.
func (p *program) print(document any, text func(io.Writer)) {
	if p.output == asJSON {
		writeJSON(p.out, document)
		return
	}
	buffer := &bytes.Buffer{} // in one write, so that what others print does not come between
	text(buffer)
	_, _ = p.out.Write(buffer.Bytes()) // a reader that has gone away wants no more
}

// show is print for what people look through, as a run and its history: as text, it hides what looks like a secret. What a verb was
// asked for, as a result or an answer, is printed as it is; so are documents, which programs read.
func (p *program) show(document any, text func(io.Writer)) {
	if p.output == asJSON {
		writeJSON(p.out, document)
		return
	}
	buffer := &bytes.Buffer{}
	text(buffer)
	shown := p.hide(buffer.String())
	_, _ = io.WriteString(p.out, shown)
	if shown != buffer.String() {
		p.say("what looks like a secret is not shown; --reveal shows it")
	}
}

// hide gives a text without what looks like a secret, unless that is asked for.
func (p *program) hide(text string) string {
	if p.reveal {
		return text
	}
	return p.redactor.Text(text)
}

// say tells a person something beside the outcome.
func (p *program) say(format string, args ...any) {
	fmt.Fprintln(p.err, p.hide(fmt.Sprintf(format, args...)))
}

// hint tells a person what may come next; a program that reads JSON knows.
func (p *program) hint(format string, args ...any) {
	if p.output != asJSON {
		p.say(format, args...)
	}
}

func writeJSON(w io.Writer, document any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		fmt.Fprintf(w, "{\"error\":{\"code\":\"internal\",\"message\":%q}}\n", err.Error())
	}
}

// pretty is a payload for people: on one line if it is short, else indented.
func pretty(payload history.Payload) string {
	if len(payload) == 0 {
		return "null"
	}
	compact := &bytes.Buffer{}
	if json.Compact(compact, payload) != nil {
		return string(payload)
	}
	if compact.Len() <= widest {
		return compact.String()
	}
	indented := &bytes.Buffer{}
	if json.Indent(indented, payload, "", "  ") != nil {
		return string(payload)
	}
	return indented.String()
}

// brief is a payload in a line of its own width; "" if there is none.
func brief(payload history.Payload) string {
	if len(payload) == 0 {
		return ""
	}
	compact := &bytes.Buffer{}
	if json.Compact(compact, payload) != nil {
		return shorten(string(payload), widest)
	}
	return shorten(compact.String(), widest)
}

// shorten cuts a text to one line of so many characters, and says how long it was.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + fmt.Sprintf("… (%d bytes)", len(text))
	}
	return text
}

// indent puts a prefix before every line.
func indent(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+prefix)
}

// align makes lines of rows, with their columns under each other; the last column is as long as it is.
func align(rows [][]string) (lines []string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			}
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
