package porttest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

var workerCases = []namedCase{
	{"there is none", func(s *subject) {
		require.Empty(s.t, s.workers(port.WorkerQuery{}))
		require.False(s.t, s.beat("http://a", 1, epoch))
		require.Empty(s.t, s.workers(port.WorkerQuery{}), "a heartbeat registers none")
		require.NoError(s.t, s.Workers.DeleteWorker(s.t.Context(), "http://a"))
	}},
	{"a worker comes back whole", func(s *subject) {
		want := worker("http://a:9000/prefix", epoch, "sum", "é")
		want.Load = math.MaxInt64
		s.putWorker(want)
		bare := worker("https://[::1]:1/"+strings.Repeat("x", port.LongestWorkerURL-16),
			epoch.Add(1))
		bare.Services = []string{}
		s.putWorker(bare)
		require.Equal(s.t, []*port.Worker{want, bare}, s.workers(port.WorkerQuery{}))
	}},
	{"a URL has one worker, which keeps its place", func(s *subject) {
		s.putWorker(worker("http://b", epoch, "sum"))
		s.putWorker(worker("http://a", epoch.Add(time.Second), "sum"))
		again := worker("http://b", epoch.Add(time.Minute), "route")
		again.ID = "another process"
		s.putWorker(again)
		again.Registered = epoch
		require.Equal(s.t, []*port.Worker{again, worker("http://a", epoch.Add(time.Second), "sum")},
			s.workers(port.WorkerQuery{}))
	}},
	{"a heartbeat says load and time", func(s *subject) {
		want := worker("http://a", epoch, "sum")
		s.putWorker(want)
		other := worker("http://a/", epoch.Add(1), "sum")
		s.putWorker(other)
		require.True(s.t, s.beat("http://a", 7, epoch.Add(time.Hour)))
		want.Load, want.Heartbeat = 7, epoch.Add(time.Hour)
		require.Equal(s.t, []*port.Worker{want, other}, s.workers(port.WorkerQuery{}))
	}},
	{"queries choose by service and by heartbeat", func(s *subject) {
		for i := range 40 {
			services := []string{"all", fmt.Sprint("service-", i%4)}
			s.putWorker(worker(fmt.Sprintf("http://w%02d", i),
				epoch.Add(time.Duration(i)*time.Second), services...))
		}
		require.Len(s.t, s.workers(port.WorkerQuery{Service: "all"}), 40)
		require.Len(s.t, s.workers(port.WorkerQuery{Service: "service-3"}), 10)
		require.Empty(s.t, s.workers(port.WorkerQuery{Service: "service"}))
		fresh := s.workers(port.WorkerQuery{Service: "service-3",
			Since: epoch.Add(35 * time.Second)})
		require.Len(s.t, fresh, 2, "one that was heard of at that very time is among them")
		require.Equal(s.t, "http://w35", fresh[0].URL)
		require.True(s.t, s.beat("http://w03", 0, epoch.Add(time.Minute)))
		require.Len(s.t, s.workers(port.WorkerQuery{Service: "service-3",
			Since: epoch.Add(35 * time.Second)}), 3)
	}},
	{"what is deleted is gone, and may come again", func(s *subject) {
		s.putWorker(worker("http://a", epoch, "sum"))
		s.putWorker(worker("http://b", epoch, "sum"))
		require.NoError(s.t, s.Workers.DeleteWorker(s.t.Context(), "http://a"))
		require.Equal(s.t, []*port.Worker{worker("http://b", epoch, "sum")},
			s.workers(port.WorkerQuery{}))
		require.False(s.t, s.beat("http://a", 1, epoch))
		again := worker("http://a", epoch.Add(time.Hour), "sum")
		s.putWorker(again)
		require.Equal(s.t, again, s.workers(port.WorkerQuery{})[1],
			"its place is that of the new registration")
	}},
	{"many workers are listed", func(s *subject) {
		long := strings.Repeat("s", port.LongestName)
		for i := range 60 { // of 20 KB each: DynamoDB lists a megabyte at a time
			services := []string{}
			for j := range 200 {
				services = append(services, long+fmt.Sprint(j))
			}
			s.putWorker(worker(fmt.Sprint("http://w", i), epoch.Add(time.Duration(-i)),
				services...))
		}
		found := s.workers(port.WorkerQuery{})
		require.Len(s.t, found, 60)
		require.Equal(s.t, "http://w59", found[0].URL)
	}},
	{"workers outlive the store", func(s *subject) {
		s.putWorker(worker("http://a", epoch, "sum"))
		require.True(s.t, s.beat("http://a", 3, epoch.Add(time.Second)))
		want := s.workers(port.WorkerQuery{})
		s.reopen()
		require.Equal(s.t, want, s.workers(port.WorkerQuery{}))
	}},
}

func worker(url string, at time.Time, services ...string) *port.Worker {
	return &port.Worker{ID: "id of " + url, URL: url, Services: services, Load: 2, Heartbeat: at,
		Registered: at}
}

func (s *subject) putWorker(worker *port.Worker) {
	s.t.Helper()
	require.NoError(s.t, s.Workers.PutWorker(s.t.Context(), worker))
}

func (s *subject) beat(url string, load int64, at time.Time) bool {
	s.t.Helper()
	known, err := s.Workers.BeatWorker(s.t.Context(), url, load, at)
	require.NoError(s.t, err)
	return known
}

func (s *subject) workers(query port.WorkerQuery) []*port.Worker {
	s.t.Helper()
	found, err := s.Workers.ListWorkers(s.t.Context(), query)
	require.NoError(s.t, err)
	return found
}
