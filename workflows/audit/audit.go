// Package audit is a workflow that checks the modules which a Go program is built from: are they, in the module cache of
// this machine, what go.sum says they should be? It does what go mod verify does, as many small activities: some at a time,
// each tried again when it fails, with progress that everybody can see, and going on where it was after a crash.
//
//	reprise start audit --input '{"path":"go.mod"}' --wait
//
// This file holds the workflow; sums.go reads go.mod and go.sum; cache.go checks one module.
package audit

import (
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// Input says what to audit.
type Input struct {
	// Path of a go.mod; its go.sum lies beside it. A path that is not absolute begins at the server's working directory.
	// It must lie in a folder that the server's operator allows: see [Folders].
	Path string `json:"path"`
	// Cache is the module cache. Empty: the one that the go command uses. Another one must lie in an allowed folder.
	Cache string `json:"cache,omitempty"`
}

// Report is what an audit finds. Its size has a bound, however many modules there are.
type Report struct {
	Module string `json:"module"`
	Cache  string `json:"cache"`
	// Modules that go.sum has checksums of: each version counts. Each is either verified, or missing from the cache, or
	// among the problems.
	Modules  int `json:"modules"`
	Verified int `json:"verified"`
	Missing  int `json:"missing"`
	Failed   int `json:"failed"`
	// Mismatches are the problems found, at most [MostMismatches].
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	Verdict    Verdict    `json:"verdict"`
}

// MostMismatches is how many a report lists. All are counted.
const MostMismatches = 100

// Mismatch is a module that is not what go.sum says.
type Mismatch struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Problem string `json:"problem"`
}

// Verdict on all modules. As with go mod verify, what is not in the cache is no problem.
type Verdict string

const (
	Verified Verdict = "verified"
	Modified Verdict = "modified"
)

// Progress is how far an audit is.
type Progress struct {
	Checked int `json:"checked"`
	Total   int `json:"total"`
	Failed  int `json:"failed"`
}

var (
	// Workflow audits a Go module.
	Workflow = workflow.New("audit", audit)

	// List gives the modules to check.
	List = activity.New("audit-list", list).With(activity.Options{Retry: activity.Retry{InitialInterval: 200 * time.Millisecond, MaxAttempts: 3}})
	// Check looks at one module. Another attempt helps where another program is just changing the cache.
	Check = activity.New("audit-check", check).With(activity.Options{StartToClose: 2 * time.Minute,
		Retry: activity.Retry{InitialInterval: 200 * time.Millisecond, MaxAttempts: 4}})
)

// Definitions are what a program registers to run audits.
func Definitions() []workflow.Definition { return []workflow.Definition{Workflow, List, Check} }

// atOnce is how many modules are checked at a time.
const atOnce = 16

func audit(ctx workflow.Context, input Input) (Report, error) {
	listing, err := workflow.Execute(ctx, List, input)
	if err != nil {
		return Report{}, err
	}
	a := &auditing{left: listing.Sums, progress: Progress{Total: len(listing.Sums)},
		report: Report{Module: listing.Module, Cache: listing.Cache, Modules: len(listing.Sums), Verdict: Verified}}
	for _, missing := range listing.Unrecorded {
		a.mismatch(missing, "go.mod requires it, and go.sum has no checksum of it")
	}
	workflow.PublishState(ctx, a.progress)

	check := func(ctx workflow.Context) (struct{}, error) { return struct{}{}, a.check(ctx, listing.Cache) }
	if _, err := workflow.Parallel(ctx, slices.Repeat([]func(workflow.Context) (struct{}, error){check}, atOnce)...); err != nil {
		return Report{}, err
	}
	return a.report, nil
}

// auditing is an audit under way. All branches share it: one runs at a time.
type auditing struct {
	left     []Sum
	progress Progress
	report   Report
}

// check is one branch: it checks module after module, until none is left.
func (a *auditing) check(ctx workflow.Context, cache string) error {
	for len(a.left) > 0 {
		sum := a.left[0]
		a.left = a.left[1:]
		finding, err := workflow.Execute(ctx, Check, Question{Cache: cache, Sum: sum})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
			a.mismatch(sum.Version, "it cannot be checked: "+err.Error())
		case finding.Problem != "":
			a.mismatch(sum.Version, finding.Problem)
		case finding.Missing:
			a.report.Missing++
		default:
			a.report.Verified++
		}
		a.progress.Checked++
		if percent := max(1, a.progress.Total/100); a.progress.Checked%percent == 0 || a.progress.Checked == a.progress.Total {
			workflow.PublishState(ctx, a.progress)
		}
	}
	return nil
}

func (a *auditing) mismatch(of Version, problem string) {
	a.progress.Failed++
	a.report.Failed++
	a.report.Verdict = Modified
	if len(a.report.Mismatches) < MostMismatches {
		a.report.Mismatches = append(a.report.Mismatches, Mismatch{Module: of.Path, Version: of.Version, Problem: problem})
	}
}
