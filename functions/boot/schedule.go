package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// sweep is how many runs one invocation deletes at most.
const sweep = 500

// HandleSchedule is functions/timer, once a minute: timers that are due soon go to the queue; runs that are blocked under an
// older version are tried again; runs that ended long ago are deleted. One of them failing does not keep the others.
func (s *System) HandleSchedule(ctx context.Context) error {
	fired, firing := s.Engine.FireDue(ctx)
	blocked, tried, unblocking := s.Engine.UnblockOlder(ctx)
	deleted, sweeping := s.Store.DeleteClosed(ctx, time.Now().Add(-s.Retention), sweep)
	if unblocking == nil {
		s.measure("BlockedRuns", blocked)
	}
	if fired+tried+deleted > 0 {
		s.Logger.InfoContext(ctx, "chores", "timers", fired, "unblocked", tried, "deleted", deleted)
	}
	return errors.Join(wrap("timers were not handed over", firing), wrap("blocked runs were not tried", unblocking), wrap("ended runs were not deleted", sweeping))
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// measure prints a figure so that CloudWatch makes a metric of it (embedded metric format), which the template's alarm watches.
func (s *System) measure(name string, value int) {
	type metric struct {
		Name, Unit string
	}
	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []metric
	}
	line, err := json.Marshal(map[string]any{
		"_aws": map[string]any{"Timestamp": time.Now().UnixMilli(),
			"CloudWatchMetrics": []directive{{"Reprise", [][]string{{"Stack"}}, []metric{{name, "Count"}}}}},
		"Stack": s.Stack, name: value,
	})
	if err != nil {
		panic("numbers and names always encode: " + err.Error())
	}
	_, _ = io.WriteString(s.Metrics, string(line)+"\n") // there is nobody to tell that standard output is gone
}
