package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// HandleSchedule is functions/timer, once a minute: timers that are due soon go to the queue; runs that
// are blocked under another version are tried again; runs that ended long ago are deleted.
//
// The three work side by side, each until its work is done or a second before the invocation's
// deadline. So none takes another's time, and an error of one keeps no other from its work.
func (s *System) HandleSchedule(ctx context.Context) error {
	if end := deadline(ctx); !end.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	var fired, blocked, tried, deleted int
	var firing, unblocking, sweeping, checking error
	var chores sync.WaitGroup
	chores.Go(func() { fired, firing = s.Engine.FireDue(ctx) })
	chores.Go(func() { blocked, tried, unblocking = s.unblockOlder(ctx) })
	chores.Go(func() {
		deleted, sweeping = s.Store.DeleteClosed(ctx, time.Now().Add(-s.Retention), math.MaxInt)
		const reserve = 6 * time.Second // it begins nothing in the last five
		if end, limited := ctx.Deadline(); limited && deleted > 0 && time.Until(end) < reserve {
			s.Logger.WarnContext(ctx, "retention used up its time, and continues in the next minute: "+
				"if that goes on for days, raise TimerMemory", "deleted", deleted)
		}
	})
	if s.CheckTable != nil {
		chores.Go(func() { checking = s.CheckTable(ctx) })
	}
	chores.Wait()
	if unblocking == nil {
		s.measure("BlockedRuns", blocked)
	}
	if fired+tried+deleted > 0 {
		s.Logger.InfoContext(ctx, "chores", "timers", fired, "unblocked", tried, "deleted", deleted)
	}
	return errors.Join(wrap("timers were not handed over", firing), wrap("blocked runs were not tried", unblocking), wrap("ended runs were not deleted", sweeping),
		wrap("the table was not checked", checking))
}

// unblockOlder has runs tried again that were blocked under another version than the one deployed.
func (s *System) unblockOlder(ctx context.Context) (blocked, tried int, err error) {
	deployed := port.Deployment{Version: s.Version}
	if s.Deployed != nil {
		if deployed, err = s.Deployed(ctx); err != nil {
			return 0, 0, err
		}
	}
	return s.Engine.UnblockOlder(ctx, deployed)
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
