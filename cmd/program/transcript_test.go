package program_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestTranscripts plays the files of testdata, each against a server of its own: what is typed, and what is printed. Lines of
// the standard error begin with "! ", and an exit code other than 0 is the last line. -rewrite writes the files anew.
//
// Times, made ids and the width of columns that hold times are replaced: see steady.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := serve(t, t.TempDir())
			folder := t.TempDir()
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				require.Equal(t, "$", d.Cmd)
				return play(t, s, folder, d.Input)
			})
		})
	}
}

// play types one line; further ones are the standard input. $TOKEN is the last completion token that was given away,
// $DIR a folder, and "> FILE" at the end writes the output there.
func play(t *testing.T, s *server, folder, typed string) string {
	t.Helper()
	line, input, _ := strings.Cut(typed, "\n")
	if strings.Contains(line, "$TOKEN") {
		line = strings.ReplaceAll(line, "$TOKEN", <-tokens)
	}
	line = strings.ReplaceAll(line, "$DIR", folder)
	line, into, redirected := strings.Cut(line, " > ")
	if !strings.Contains(line, "--address") {
		line += " --address " + s.Address
	}
	got := command(t.Context(), input, words(line)...)
	for begins, shows := range shownFirst {
		if run, ok := strings.CutPrefix(line, begins); ok {
			run, _, _ = strings.Cut(run, " ")
			for !strings.Contains(s.ask(t.Context(), "", "get", cmp.Or(shows.run, run)).out, shows.text) {
				require.NoError(t, t.Context().Err())
			}
		}
	}
	if redirected {
		write(t, into, got.out)
		got.out = ""
	}
	text := got.out
	for said := range strings.Lines(got.err) {
		text += "! " + said
	}
	if got.code != 0 {
		text += "exit " + string(rune('0'+got.code)) + "\n"
	}
	host, err := os.Hostname()
	require.NoError(t, err)
	text = strings.ReplaceAll(text, fmt.Sprintf("%s/%d", host, os.Getpid()), "<worker>")
	text = strings.ReplaceAll(text, strings.TrimPrefix(s.Address, "http://"), "<address>")
	return steady(strings.ReplaceAll(text, folder, "$DIR"))
}

// shownFirst is what get shows of a run before the next line is typed: that must not fall into the
// run's first record, or come before a step has failed, before a child is there, or before a flow
// has entered its node.
var shownFirst = map[string]struct{ run, text string }{
	"start counter --run ":  {text: "counting"},
	"start unbilled --run ": {text: "attempt 2 begins"},
	"start vanishes --run ": {run: "left", text: "status"},
	"start review --run ":   {text: "waitsFor"},
	"start quote ":          {run: "q2", text: "waitsFor"},
}

// words splits a line as a shell does, with single quotes alone.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

var unsteady = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?`), "<time>"},
	{regexp.MustCompile(`\b(\d+h\d\dm|\d+m\d\ds|\d+(\.\d)?s|\d+ms)\b`), "<t>"},
	// a state has a time, which ends with the last digit but 0
	{regexp.MustCompile(`("action"… \()\d+ bytes`), "$1<n> bytes"},
	{regexp.MustCompile(`"[a-z2-7]{26}"`), `"<id>"`},
	{regexp.MustCompile(`"stamp": \d+`), `"stamp": <stamp>`},
	// a run is finished when its inbox is empty
	{regexp.MustCompile(`runs: \d+ read`), `runs: <n> read`},
	{regexp.MustCompile(`"checked": \d+`), `"checked": <n>`},
	{regexp.MustCompile(`\d+ in flight`), `<n> in flight`}, // a message is acknowledged after what it brought about
	{regexp.MustCompile(`"inFlight": \d+`), `"inFlight": <n>`},
	{regexp.MustCompile(`(under version |"version": ")[0-9a-f]{16,40}\b`), "$1<version>"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m)^(! )? {8,}`), "$1        "},
	{regexp.MustCompile(`(?m)^(! )? {2}\+<t> +`), "$1  +<t>  "},
	// a look at a run comes while it is there, or later
	{regexp.MustCompile(`(?m)^! {2,}\+<t>  at .*\n`), ""},
}

// steady replaces what differs from call to call.
func steady(text string) string {
	for _, u := range unsteady {
		text = u.pattern.ReplaceAllString(text, u.by)
	}
	return text
}
