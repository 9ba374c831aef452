// Package measure is what the programs that measure peers share: a closed loop, quantiles, the counts of a process, and
// figures in the form of bench -json.
package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Figures by workload and name.
type Figures []*Figure

// Figure is one quantity of one workload.
type Figure struct {
	Workload string    `json:"workload"`
	Name     string    `json:"figure"`
	Values   []float64 `json:"values"` // one for each repetition
}

// Adder gives what adds figures of a workload.
func (f *Figures) Adder(workload string) func(name string, value float64) {
	return func(name string, value float64) {
		*f = append(*f, &Figure{Workload: workload, Name: name, Values: []float64{value}})
	}
}

// Write writes them to a file.
func (f *Figures) Write(file string) error {
	text, err := json.Marshal(map[string]any{"figures": f})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// Durations is a list that many may add to.
type Durations struct {
	mu   sync.Mutex
	list []time.Duration
}

// Add one.
func (d *Durations) Add(one time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

// Take gives all, and forgets them.
func (d *Durations) Take() []time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.list
	d.list = nil
	return taken
}

// Took is how long it took: all, and each.
type Took struct {
	All  time.Duration
	Each []time.Duration
}

// Quantile in milliseconds.
func (t Took) Quantile(q float64) float64 {
	if len(t.Each) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.Each))
	return float64(sorted[int(float64(len(sorted)-1)*q)]) / 1e6
}

// Closed has k callers do n things: each begins the next when the last has ended.
func Closed(n, k int, do func(i int) error) (Took, error) {
	var each Durations
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var callers sync.WaitGroup
	begun := time.Now()
	for range min(k, n) {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				begun := time.Now()
				if err := do(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
				each.Add(time.Since(begun))
			}
		})
	}
	callers.Wait()
	took := Took{All: time.Since(begun), Each: each.Take()}
	if err := failed.Load(); err != nil {
		return took, *err
	}
	return took, nil
}

// Usage is what Linux counts for a process.
type Usage struct {
	CPU float64 // milliseconds
	RSS float64 // MB
}

// Process reads the counts of a process. What cannot be read is zero.
func Process(pid int) (u Usage) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u
	}
	// Fields 14 and 15 count ticks of a hundredth of a second, field 24 pages of 4 KB; the name in field 2 may have spaces.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const user, system, resident, tick, pagesPerMB = 11, 12, 21, 10, 256
	u.CPU = (parse(fields[user]) + parse(fields[system])) * tick
	u.RSS = parse(fields[resident]) / pagesPerMB
	return u
}

func parse(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return value
}
