package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is the tests of one package, built with all mutants in it.
type suite struct {
	folder string // of the package
	binary string
	args   []string
	tests  []*test
}

// test is one test function, as it ran without a mutant.
type test struct {
	name    string
	took    time.Duration
	reaches map[int]bool // mutants, by their numbers
}

// newSuite builds the tests that are named so: a package, a regular expression of tests, and flags
// for them. The expression and the flags may be left out.
func newSuite(ctx context.Context, named, overlay, work string) (*suite, error) {
	words := strings.Fields(named)
	folder, err := filepath.Abs(words[0])
	if err != nil {
		return nil, err
	}
	name := strings.ReplaceAll(strings.Trim(words[0], "./"), "/", "-") + ".test"
	s := &suite{folder: folder, binary: filepath.Join(work, name)}
	build := exec.CommandContext(ctx, "go", "test", "-c",
		"-overlay", overlay, "-o", s.binary, words[0])
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, out)
	}
	which := "^(Test|Example|Fuzz)"
	if len(words) > 1 {
		which = words[1]
		s.args = words[2:]
	}
	list := exec.CommandContext(ctx, s.binary, "-test.list", which)
	list.Dir = folder
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", words[0], err)
	}
	for _, name := range strings.Fields(string(out)) {
		s.tests = append(s.tests, &test{name: name})
	}
	return s, nil
}

// measure runs each test without a mutant: how long it takes, and which mutants it reaches. It forgets
// tests that reach none.
func (s *suite) measure(ctx context.Context, work string) error {
	const enough = 5 * time.Minute
	for _, t := range s.tests {
		reached := filepath.Join(work, "reached-"+t.name)
		began := time.Now()
		out, err := s.run(ctx, []*test{t}, enough, "MUTANT=-1", "MUTANTS_REACHED="+reached)
		if err != nil {
			return fmt.Errorf("%s in %s fails without a mutant: %w\n%s", t.name, s.folder, err, out)
		}
		t.took = time.Since(began)
		text, err := os.ReadFile(reached)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		t.reaches = map[int]bool{}
		for _, line := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(line)
			if err != nil {
				return err
			}
			t.reaches[n] = true
		}
	}
	s.tests = slices.DeleteFunc(s.tests, func(t *test) bool { return len(t.reaches) == 0 })
	slices.SortFunc(s.tests, func(a, b *test) int { return int(a.took - b.took) })
	return nil
}

// run runs tests in one process, until one fails or the time is over. The memory of the process is
// limited: a mutant may have no end.
func (s *suite) run(ctx context.Context, tests []*test, limit time.Duration, environment ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = t.name
	}
	args := append([]string{"-c", `ulimit -v 16000000; exec "$0" "$@"`, s.binary,
		"-test.run", "^(" + strings.Join(names, "|") + ")$",
		"-test.short", "-test.failfast", "-test.timeout", limit.String()}, s.args...)
	command := exec.CommandContext(ctx, "sh", args...)
	command.Dir = s.folder
	command.WaitDelay = time.Second
	command.Env = append(os.Environ(), environment...)
	return command.CombinedOutput()
}

// kills says whether a test notices a mutant, the quickest first, and whether one reaches it.
func (s *suite) kills(ctx context.Context, m *mutant) (killed, reached bool) {
	const first = 8 // tests of the first process
	var reaching []*test
	for _, t := range s.tests {
		if t.reaches[m.number] {
			reaching = append(reaching, t)
		}
	}
	for len(reaching) > 0 && !killed {
		some := reaching[:min(first, len(reaching))]
		if reached {
			some = reaching
		}
		reached, reaching = true, reaching[len(some):]
		limit := 10 * time.Second
		for _, t := range some {
			limit += 5 * t.took
		}
		_, err := s.run(ctx, some, limit, fmt.Sprint("MUTANT=", m.number))
		killed = err != nil
	}
	return killed, reached
}
