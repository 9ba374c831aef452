package activity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
)

// TestWithKeepsWhatItDoesNotName: a call that changes one option leaves the activity's others as
// they are.
func TestWithKeepsWhatItDoesNotName(t *testing.T) {
	own := activity.Options{ID: "own", Inline: true, ScheduleToStart: 1, StartToClose: 2, ScheduleToClose: 3, Heartbeat: 4,
		Retry:    activity.Retry{InitialInterval: 5, MaxInterval: 6, BackoffCoefficient: 7, MaxAttempts: 8, NonRetryable: []string{"declined"}},
		OnCancel: activity.Try}
	charge := activity.New("charge", func(context.Context, string) (string, error) { return "", nil }).With(own)

	require.Equal(t, own, charge.With(activity.Options{}).Options())
	long := charge.With(activity.Options{StartToClose: time.Hour, Retry: activity.Retry{MaxAttempts: 2}})
	want := own
	want.StartToClose, want.Retry.MaxAttempts = time.Hour, 2
	require.Equal(t, want, long.Options())
	require.Equal(t, activity.Unlimited, long.With(activity.Options{StartToClose: activity.Unlimited}).Options().StartToClose)
	require.Equal(t, own, charge.Options(), "the activity itself stays as it was")
}
