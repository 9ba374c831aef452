package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/tests/gauge"
)

// watch looks at the server again and again while the load lasts.
type watch struct {
	server   *server
	load     *load
	meters   []*meter
	interval time.Duration
	duration time.Duration
	warmUp   time.Duration
	begun    time.Time
	samples  []sample
	busiest  float64 // runs that ended within one retention, at most
	machine  ticks   // at the last sample
}

// ticks of the processors, and those that others on the same hardware had of them.
type ticks struct{ stolen, all int64 }

// sample is what was seen at one time.
type sample struct {
	at      time.Duration
	process gauge.Process
	vital
	files          int
	disk, wal      float64 // MB
	ready, delayed int
	ended          int64
	perSecond      float64
	kept           float64 // runs that ended within one retention, at most so far
	late           time.Duration
	p50, p99       []float64 // ms, by probe
	stolen         float64   // percent of the processors' time
	wrong          int
}

func newWatch(s *server, l *load, duration, warmUp time.Duration) *watch {
	w := &watch{server: s, load: l, duration: duration, warmUp: warmUp, interval: min(max(duration/60, 2*time.Second), 10*time.Second)}
	for _, p := range probes {
		w.meters = append(w.meters, &meter{probe: p})
	}
	return w
}

// look begins the probes and takes samples until the context ends.
func (w *watch) look(ctx context.Context) {
	w.begun = time.Now()
	w.stolen()
	for _, m := range w.meters {
		w.load.clients.Go(func() { m.beat(ctx, w.load) })
	}
	w.print(strings.Join(headings(), " "))
	ticks := time.NewTicker(w.interval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		s, err := w.sample(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.load.note("sample", fmt.Errorf("sample: %w", err))
			}
			continue
		}
		w.samples = append(w.samples, s)
		w.print(s.String())
	}
}

func (w *watch) print(line string) { fmt.Fprintln(os.Stdout, line) }

func (w *watch) sample(ctx context.Context) (s sample, err error) {
	s = sample{at: time.Since(w.begun), process: gauge.ProcessOf(w.server.pid()), files: gauge.Files(w.server.pid()), ended: w.load.ended.Load(),
		wrong: w.load.errors()}
	if s.vital, err = client.Execute(ctx, w.load.client, vitals, "", struct{}{}); err != nil {
		return s, err
	}
	info, err := w.load.client.Info(ctx)
	if err != nil {
		return s, err
	}
	s.ready, s.delayed = info.Backlog.Ready, info.Backlog.Delayed
	for _, m := range w.meters {
		latencies := m.take()
		s.p50 = append(s.p50, gauge.Quantile(latencies, 0.5)/1e6)
		s.p99 = append(s.p99, gauge.Quantile(latencies, 0.99)/1e6)
	}
	s.stolen = w.stolen()
	s.late, err = w.lateness(ctx)
	s.disk, s.wal = w.sizes()
	w.rates(&s)
	return s, err
}

// stolen is how much of the processors' time others have had since the last sample, in percent.
func (w *watch) stolen() float64 {
	before := w.machine
	w.machine.stolen, w.machine.all = gauge.Stolen()
	return 100 * float64(w.machine.stolen-before.stolen) / float64(max(w.machine.all-before.all, 1))
}

// sizes gives those of the file and of its write-ahead log, in MB.
func (w *watch) sizes() (disk, wal float64) {
	const megabyte = 1 << 20
	size := func(name string) float64 {
		info, err := os.Stat(filepath.Join(w.server.folder, name))
		if err != nil {
			return 0
		}
		return float64(info.Size()) / megabyte
	}
	return size("reprise.db"), size("reprise.db-wal")
}

// rates works out how many runs ended, per second, and within one retention.
func (w *watch) rates(s *sample) {
	if n := len(w.samples); n > 0 {
		before := w.samples[n-1]
		s.perSecond = float64(s.ended-before.ended) / (s.at - before.at).Seconds()
	}
	for _, before := range w.samples {
		if since := s.at - before.at; since <= retention {
			w.busiest = max(w.busiest, float64(s.ended-before.ended)*float64(retention)/float64(max(since, retention-w.interval)))
			break
		}
	}
	s.kept = w.busiest
}

// lateness says how much longer than it should the oldest run is kept that the first probe has left.
func (w *watch) lateness(ctx context.Context) (time.Duration, error) {
	m := w.meters[0]
	m.mu.Lock()
	runs := m.left
	m.mu.Unlock()
	gone := 0
	defer func() {
		m.mu.Lock()
		m.left = m.left[gone:]
		m.mu.Unlock()
	}()
	for _, run := range runs {
		age := time.Since(run.at)
		if age < retention {
			return 0, nil
		}
		_, err := w.load.client.Get(ctx, run.run)
		if client.CodeOf(err) != port.NotFound {
			return age - retention, err
		}
		gone++
	}
	return 0, nil
}

// verdicts are the trends after warm-up, and whether what has ended is deleted in time.
func (w *watch) verdicts() (all []verdict) {
	measured := w.measured()
	undisturbed := slices.DeleteFunc(slices.Clone(measured), func(s sample) bool { return s.stolen > disturbed })
	among := func(samples []sample, name string, part, amount float64, value func(sample) float64) {
		s := series{name: name, part: part, amount: amount}
		for _, one := range samples {
			s.values = append(s.values, value(one))
		}
		all = append(all, s.trend(w.interval))
	}
	of := func(name string, amount float64, value func(sample) float64) {
		among(measured, name, 0.1, amount, value)
	}
	const megabyte = 1 << 20
	of("RSS, MB", 8, func(s sample) float64 { return s.process.RSS })
	of("live heap, MB", 4, func(s sample) float64 { return float64(s.Heap) / megabyte })
	of("goroutines", 100, func(s sample) float64 { return float64(s.Goroutines) })
	of("open files", 20, func(s sample) float64 { return float64(s.files) })
	for i, p := range probes {
		among(undisturbed, p.name+", ms p50", 0.25, 1, func(s sample) float64 { return s.p50[i] })
		among(undisturbed, p.name+", ms p99", 0.25, 5, func(s sample) float64 { return s.p99[i] })
	}
	of("disk, KB a run kept", 0, func(s sample) float64 { return s.disk * 1024 / max(s.kept, 1) })
	of("write-ahead log, MB", 4, func(s sample) float64 { return s.wal })
	of("runs kept too long, s", 5, func(s sample) float64 { return s.late.Seconds() })
	of("messages ready", 100, func(s sample) float64 { return float64(s.ready) })
	of("messages delayed", 100, func(s sample) float64 { return float64(s.delayed) })
	all = append(all, verdict{name: "machine", good: 2*len(undisturbed) >= len(measured),
		text: fmt.Sprintf("was there for %d of %d looks; others had more than %d %% of it in the rest", len(undisturbed), len(measured), disturbed)})
	return append(all, w.retained(measured))
}

// disturbed is at how many percent of the processors' time, taken away by others on the same hardware, latency says nothing of the
// server.
const disturbed = 10

func (w *watch) measured() (measured []sample) {
	for _, s := range w.samples {
		if s.at > w.warmUp {
			measured = append(measured, s)
		}
	}
	return measured
}

// retained says whether what has ended is deleted, soon enough for the disk's bound to mean something.
func (w *watch) retained(measured []sample) verdict {
	late := time.Duration(0)
	for _, s := range measured {
		late = max(late, s.late)
	}
	return verdict{name: "retention", good: late <= retention/2, text: fmt.Sprintf("runs were kept %s too long at most", late.Round(100*time.Millisecond))}
}

// columns of the lines that are printed while the load lasts, and of the table at the end.
var columns = []struct {
	heading string
	value   func(sample) float64
}{
	{"s", func(s sample) float64 { return s.at.Seconds() }},
	{"ended/s", func(s sample) float64 { return s.perSecond }},
	{"RSS MB", func(s sample) float64 { return s.process.RSS }},
	{"heap MB", func(s sample) float64 { return float64(s.Heap) / (1 << 20) }},
	{"gorout.", func(s sample) float64 { return float64(s.Goroutines) }},
	{"files", func(s sample) float64 { return float64(s.files) }},
	{"disk MB", func(s sample) float64 { return s.disk }},
	{"WAL MB", func(s sample) float64 { return s.wal }},
	{"ready", func(s sample) float64 { return float64(s.ready) }},
	{"delayed", func(s sample) float64 { return float64(s.delayed) }},
	{"late s", func(s sample) float64 { return s.late.Seconds() }},
	{"start50", func(s sample) float64 { return s.p50[0] }},
	{"start99", func(s sample) float64 { return s.p99[0] }},
	{"signl50", func(s sample) float64 { return s.p50[1] }},
	{"signl99", func(s sample) float64 { return s.p99[1] }},
	{"updat50", func(s sample) float64 { return s.p50[2] }},
	{"updat99", func(s sample) float64 { return s.p99[2] }},
	{"query50", func(s sample) float64 { return s.p50[3] }},
	{"query99", func(s sample) float64 { return s.p99[3] }},
	{"stolen%", func(s sample) float64 { return s.stolen }},
	{"wrong", func(s sample) float64 { return float64(s.wrong) }},
}

func headings() (all []string) {
	for _, c := range columns {
		all = append(all, fmt.Sprintf("%7s", c.heading))
	}
	return all
}

func (s sample) String() string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = fmt.Sprintf("%7s", gauge.Show(c.value(s)))
	}
	return strings.Join(cells, " ")
}

// table has a line for each column: its medians in the thirds of what was measured.
func (w *watch) table() string {
	measured := w.measured()
	third := len(measured) / 3
	var text strings.Builder
	fmt.Fprintf(&text, "%-10s %10s %10s %10s %10s\n", "median of", "1st third", "2nd third", "3rd third", "greatest")
	for _, c := range columns[1:] {
		var values []float64
		for _, s := range measured {
			values = append(values, c.value(s))
		}
		fmt.Fprintf(&text, "%-10s", c.heading)
		for i := range 3 {
			fmt.Fprintf(&text, " %10s", gauge.Show(gauge.Quantile(values[third*i:third*(i+1)], 0.5)))
		}
		fmt.Fprintf(&text, " %10s\n", gauge.Show(gauge.Quantile(values, 1)))
	}
	return text.String()
}
