package api

import (
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// What the engine says, as callers see it.

func summaryOf(s *port.Summary) *wire.Summary {
	return &wire.Summary{Run: s.Run, Workflow: s.Workflow, Definition: s.Definition,
		Generation: s.Generation,
		Status:     s.Status,
		Blocked:    (*wire.Block)(s.Blocked),
		Started:    s.Started,
		Closed:     s.Closed,
		Input:      s.Input,
		Result:     s.Result,
		Failure:    s.Failure,
		State:      s.State,
		Attributes: s.Attributes,
		Parent:     s.Parent,
		Large:      largeOf(s.Large)}
}

func largeOf(values map[string]port.Large) map[string]wire.Large {
	if values == nil {
		return nil
	}
	shown := make(map[string]wire.Large, len(values))
	for name, value := range values { // order-insensitive: a map is filled
		shown[name] = wire.Large(value)
	}
	return shown
}

func answerOf(a engine.UpdateAnswer) wire.UpdateAnswer {
	return wire.UpdateAnswer{ID: a.ID, Stamp: a.Stamp, Phase: a.Phase, Result: a.Result,
		Failure: a.Failure, Large: largeOf(a.Large)}
}

func activityOf(t *port.TaskState) *wire.ActivityState {
	return &wire.ActivityState{Run: t.Run, Generation: t.Generation, Seq: t.Seq,
		Activity: t.Activity, Step: t.Step, Attempt: t.Attempt,
		Started:   t.Started,
		Beat:      t.Beat,
		Details:   t.Details,
		Failure:   t.Failure,
		Next:      t.Next,
		Cancelled: t.Cancelled,
		Pending:   t.Pending,
		Large:     largeOf(t.Large)}
}

// definitionOf gives a definition as answers have it.
func definitionOf(d *port.Definition) *wire.Definition {
	return &wire.Definition{Name: d.Name, Version: d.Version, Kind: d.Kind,
		Status: string(d.Status), Hash: d.Hash, Bytes: d.Bytes,
		Publisher: d.Publisher, Published: d.Published, Source: d.Source}
}

func definitionsOf(all []*port.Definition) []*wire.Definition {
	made := make([]*wire.Definition, len(all))
	for i, d := range all {
		made[i] = definitionOf(d)
	}
	return made
}

// problemsOf gives the mistakes of a source as answers have them.
func problemsOf(found port.SourceProblems) []wire.SourceProblem {
	made := make([]wire.SourceProblem, len(found))
	for i, problem := range found {
		made[i] = wire.SourceProblem(problem)
	}
	return made
}
