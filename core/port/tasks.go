package port

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Tasks keeps what is known of activities under way, where more is needed than their message: they
// heartbeat, have failed before, were asked to stop, or wait to be completed from outside; and of
// steps that have failed.
type Tasks interface {
	// SaveTask keeps a state, in the place of the one that is there. Of that, one thing stays: no
	// save takes Cancelled off, as the caller may have looked before the activity was asked to
	// stop. A state that waits ([TaskState.Next], [TaskState.Pending]) or was asked to stop is
	// durable when SaveTask returns; others may be lost with the process.
	SaveTask(ctx context.Context, state *TaskState) error
	// CancelTask sets Cancelled, and changes nothing else of a state that is there. Only DeleteTask
	// takes it off.
	CancelTask(ctx context.Context, key TaskKey) error
	// LoadTask gives nil if there is none.
	LoadTask(ctx context.Context, key TaskKey) (*TaskState, error)
	TasksOf(ctx context.Context, run string) ([]*TaskState, error)
	DeleteTask(ctx context.Context, key TaskKey) error
}

// TaskKey names one call of an activity.
type TaskKey struct {
	Run        string `json:"run"`
	Generation int    `json:"generation"`
	Seq        int64  `json:"seq"`
}

// TaskState is what is known of an activity under way.
type TaskState struct {
	TaskKey
	Activity string `json:"activity"`
	// Step: it runs inline. [Engine.ActivitiesOf] sets it from the log.
	Step    bool            `json:"step,omitempty"`
	Attempt int             `json:"attempt"`
	Started time.Time       `json:"started,omitzero"`  // of this attempt
	Beat    time.Time       `json:"beat,omitzero"`     // the last heartbeat
	Details history.Payload `json:"details,omitempty"` // of the last heartbeat
	Failure string          `json:"failure,omitempty"` // of the attempt before
	// Next is when this attempt may begin, if it waits for that. Zero: it has begun, or waits for
	// nothing.
	Next time.Time `json:"next,omitzero"`
	// Failed shows the last attempts that failed, oldest first. [EncodeTask] stores it; JSON does
	// not show it.
	Failed []history.Attempt `json:"-"`
	// Cancelled: the run asked it to stop.
	Cancelled bool `json:"cancelled,omitempty"`
	// Pending: the attempt has returned, and will be completed from outside.
	Pending bool `json:"pending,omitempty"`
	// Large names the details, where they were left out: see [TaskState.LeaveOut]. It is not
	// stored.
	Large map[string]Large `json:"large,omitempty"`
}
