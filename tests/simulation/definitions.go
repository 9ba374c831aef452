package simulation

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// In some seeds, programs, or JSON flows among them, are published definitions. They are published at any time, some of them in
// two versions, while runs of them begin, wait for them, continue as new, and are reset.

// kindOfPrograms is the kind of their definitions.
const kindOfPrograms = "program"

// newPublishers gives a caller for each program, which publishes it.
func newPublishers(s *simulation) (callers []*caller) {
	r := s.c.stream(ofDefinitions + 1)
	for i := range len(s.programs) {
		p := s.programs[fmt.Sprintf("p%d", i)]
		c := &caller{name: fmt.Sprintf("publisher-%d", i), at: s.now.Add(time.Duration(r.IntN(3)) * time.Duration(r.IntN(5000)) * time.Millisecond)}
		for version := range 1 + r.IntN(2) {
			c.acts = append(c.acts, act{do: toPublish, id: p.Name, publishes: p, value: version + 1, unique: r.IntN(2) == 0,
				after: time.Duration(r.IntN(30_000)) * time.Millisecond})
		}
		if s.isPublished(p) {
			callers = append(callers, c)
		}
	}
	return callers
}

// isPublished says whether a program is a published definition. A flow always is.
func (s *simulation) isPublished(p *program) bool { return s.limits.published || p.Flow != nil }

// publish publishes a version: under its number, or under the next one, which must be the same.
func (a act) publish(ctx context.Context, e *engine.Engine) error {
	request := engine.PublishRequest{Name: a.id, Kind: kindOfPrograms, Source: strconv.Itoa(a.value)}
	if flow := a.publishes.Flow; flow != nil {
		request.Kind, request.Source = kindOfFlows, flow.source(a.value)
	}
	if a.unique {
		request.Version = a.value
	}
	definition, _, err := e.Publish(ctx, request)
	if err == nil && definition.Version != a.value {
		err = port.Errorf(port.Conflict, "source %d was published as version %d", a.value, definition.Version)
	}
	return err
}

// pinned checks which version a generation has: one that there is. A generation that was continued
// as new has the version of the one before. So has one after a reset, unless that named another.
func (c *checks) pinned(run *checkedRun, commit *port.Commit, started *history.Started) {
	if !c.s.isPublished(c.s.programs[started.Workflow]) {
		return
	}
	where := fmt.Sprintf("generation %d of run %s", commit.Generation, commit.Run)
	if _, err := c.s.store.FindDefinition(context.Background(), started.Workflow, started.Definition); err != nil || started.Definition == 0 {
		if commit.Record.Closes() != nil { // it was ended before it had code
			return
		}
		c.s.violate("%s has version %d of definition %s: %v", where, started.Definition, started.Workflow, err)
	}
	before := run.generations[commit.Generation-1]
	if before == nil || len(before.records) == 0 {
		return
	}
	had := before.definition
	if strings.HasPrefix(before.naive.ended, "continue-as-new") && started.Base == nil && had != started.Definition {
		c.s.violate("%s has version %d of its definition, and the generation that it continues has version %d", where, started.Definition, had)
	}
}
