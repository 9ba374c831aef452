// Package attempt carries, in an activity's context, what its author's surface (core/activity) asks the engine for.
package attempt

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Attempt is one try of an activity, as it is under way.
type Attempt struct {
	Run        string
	Generation int
	Origin     int // generation whose log has the call: an earlier one where a reset kept it
	Seq        int64
	ID         string
	Activity   string
	Number     int // from 1
	Scheduled  time.Time
	Worker     string
	// DataFolder is where the server keeps its data; empty where it keeps none in files.
	DataFolder string
	// Details of the last heartbeat of an earlier attempt.
	Details history.Payload
	// Heartbeat records progress; its error is the context's, once the activity should stop.
	Heartbeat func(details history.Payload) error
	// Token by which the activity can be completed from outside; nil where that is impossible (a step).
	Token func() string
}

type key struct{}

// From takes it out; nil where the context is not an activity's.
func From(ctx context.Context) *Attempt {
	a, _ := ctx.Value(key{}).(*Attempt)
	return a
}
