// Package gauge reads what the benchmarks and the soak are judged by: of the machine, and of a process from outside.
package gauge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine is what figures depend on.
type Machine struct {
	Date   string  `json:"date"`
	CPU    string  `json:"cpu,omitempty"`
	Cores  int     `json:"cores"`
	Go     string  `json:"go"`
	System string  `json:"system"`
	Load   string  `json:"load,omitempty"` // averages over 1, 5 and 15 minutes, before
	Disk   string  `json:"disk,omitempty"` // file system of the data
	Flush  float64 `json:"flush"`          // microseconds to write 4 KB and flush them, p50
}

// Look reads them; the folder is on the disk that counts.
func Look(folder string) (Machine, error) {
	m := Machine{Date: time.Now().Format(time.DateOnly), CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Disk: fileSystem(folder)}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	var err error
	m.Flush, err = flushTime(folder)
	return m, err
}

func (m Machine) String() string {
	return fmt.Sprintf("%s  %s, %d cores, %s %s, load %s, %s, a flush takes %.0f µs", m.Date, m.CPU, m.Cores, m.Go, m.System, m.Load, m.Disk, m.Flush)
}

// Markdown is a line for a document.
func (m Machine) Markdown() string {
	return fmt.Sprintf("%s: %s, %d cores, %s on %s, %s, a flush of 4 KB %.0f µs; load averages before: %s.\n", m.Date, m.CPU, m.Cores, m.Go, m.System,
		m.Disk, m.Flush, m.Load)
}

// field of a file with lines of the form name: value.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fileSystem of a folder, from the mounts; the longest mount point that is above it counts.
func fileSystem(folder string) (kind string) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return ""
	}
	longest := -1
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		at := fields[1]
		if below, err := filepath.Rel(at, folder); err == nil && !strings.HasPrefix(below, "..") && len(at) > longest {
			longest, kind = len(at), fields[2]
		}
	}
	if kind == "tmpfs" {
		fmt.Fprintln(os.Stderr, "the data is in memory (tmpfs), so flushes cost nothing: choose a folder on a disk with -data")
	}
	return kind
}

// flushTime writes and flushes 4 KB again and again.
func flushTime(folder string) (microseconds float64, err error) {
	file, err := os.CreateTemp(folder, "reprise-flush-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	const times, size = 200, 4096
	block, took := make([]byte, size), make([]int64, 0, times)
	for range times {
		begun := time.Now()
		if _, err := file.WriteAt(block, 0); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took = append(took, int64(time.Since(begun)))
	}
	return Quantile(took, 0.5) / 1e3, nil
}

// Stolen says how much of the processors' time others on the same hardware have had, and how much there was, since the start, in
// ticks: 0 and 0 where the system does not say.
func Stolen() (stolen, all int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	const steal, last = 8, 8 // user nice system idle iowait irq softirq steal; what follows is counted in these
	for i, word := range strings.Fields(first) {
		if i == 0 || i > last {
			continue
		}
		ticks, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, 0
		}
		if all += ticks; i == steal {
			stolen = ticks
		}
	}
	return stolen, all
}
