// Command spec checks the protocol of core/engine/PROTOCOL.md: it visits every state that can follow when functions die
// between any two calls, messages are doubled, answers are lost and queues deleted. README.md says how to read it.
//
// It knows nothing of the engine's code, and no code of the engine knows it: it is the protocol said a second time, in a form
// in which everything that can happen can be tried.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	ok, err := run(os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "spec:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// options of the command line.
type options struct {
	scenarios []Scenario
	rules     Rules
	limit     int
	quiet     bool
}

func run(out io.Writer, args []string) (ok bool, err error) {
	flags := flag.NewFlagSet("spec", flag.ContinueOnError)
	only := flags.String("scenario", "", "only these, comma-separated")
	necessary := flags.Bool("necessary", false, "turn each rule off alone and show what breaks")
	off := flags.String("off", "", "turn these rules off, comma-separated")
	limit := flags.Int("limit", 20_000_000, "no further layer is begun with so many `states`, per scenario")
	crashes := flags.Int("crashes", -1, "another budget of crashes")
	duplicates := flags.Int("duplicates", -1, "another budget of duplicates")
	quiet := flags.Bool("quiet", false, "no traces")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	o := options{rules: allRules(), limit: *limit, quiet: *quiet}
	names := split(*only)
	for _, scenario := range scenarios {
		if len(names) > 0 && !slices.Contains(names, scenario.Name) {
			continue
		}
		if *crashes >= 0 {
			scenario.Crash = uint8(*crashes)
		}
		if *duplicates >= 0 {
			scenario.Duplicate = uint8(*duplicates)
		}
		o.scenarios = append(o.scenarios, scenario)
	}
	if len(o.scenarios) == 0 {
		return false, fmt.Errorf("there is no scenario %q", *only)
	}
	if *necessary {
		return o.necessary(out, split(*off)), nil
	}
	for _, name := range split(*off) {
		if !slices.Contains(ruleNames(), name) {
			return false, fmt.Errorf("there is no rule %q; there are: %s", name, strings.Join(ruleNames(), ", "))
		}
		o.rules = o.rules.with(name, false)
	}
	return o.check(out), nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
}

// check visits the scenarios under the rules.
func (o *options) check(out io.Writer) (ok bool) {
	states, steps, failed := 0, 0, 0
	for _, scenario := range o.scenarios {
		res := explore(scenario, o.rules, o.limit)
		fmt.Fprintf(out, "%-10s %s  %s\n", scenario.Name, res, scenario.What)
		o.show(out, res)
		states, steps = states+res.states, steps+res.steps
		if res.bad != "" || !res.whole {
			failed++
		}
	}
	fmt.Fprintf(out, "%d states, %d steps, %d scenarios broken or unfinished\n", states, steps, failed)
	return failed == 0
}

// necessary turns each rule off alone, in the scenario and under the budget that are known to show what is lost.
func (o *options) necessary(out io.Writer, only []string) (ok bool) {
	ok = true
	for _, rule := range ruleNames() {
		if len(only) > 0 && !slices.Contains(only, rule) {
			continue
		}
		res := explore(witnesses[rule].scenario(), o.rules.with(rule, false), o.limit)
		if res.bad == "" {
			fmt.Fprintf(out, "without %-16s nothing breaks in %s: %s\n", rule, witnesses[rule].name, res)
			ok = false
			continue
		}
		fmt.Fprintf(out, "without %-16s %-10s %2d steps, %8d states: %s\n", rule, witnesses[rule].name, len(res.trace)-1, res.states, res.bad)
		o.show(out, res)
	}
	return ok
}

func (o *options) show(out io.Writer, res result) {
	if res.bad == "" || o.quiet {
		return
	}
	fmt.Fprintln(out, "    BROKEN:", res.bad)
	fmt.Fprintln(out, "      "+strings.Join(res.trace, "\n      "))
}

func (r result) String() string {
	text := fmt.Sprintf("%9d states %10d steps depth %3d %6.1fs", r.states, r.steps, r.depth, r.took.Seconds())
	if !r.whole && r.bad == "" {
		text += " NOT WHOLE"
	}
	return text
}
