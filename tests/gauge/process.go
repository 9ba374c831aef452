package gauge

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process is what the operating system counts for a process: where there is no /proc, nothing.
type Process struct {
	CPU  float64 `json:"cpu"`  // milliseconds, in user and system mode
	RSS  float64 `json:"rss"`  // MB (of 1,048,576 bytes)
	Peak float64 `json:"peak"` // MB, of RSS
}

// ProcessOf reads the counts of a process.
func ProcessOf(pid int) (p Process) {
	// Fields 14 and 15 count ticks of a hundredth of a second; the name in field 2 may have spaces.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		const user, system, tick = 11, 12, 10
		p.CPU = (Number(fields[user]) + Number(fields[system])) * tick
	}
	const kilobytes = 1024
	status := fmt.Sprintf("/proc/%d/status", pid)
	p.RSS = Number(strings.TrimSuffix(field(status, "VmRSS"), " kB")) / kilobytes
	p.Peak = Number(strings.TrimSuffix(field(status, "VmHWM"), " kB")) / kilobytes
	return p
}

// Files is how many files and connections a process has open.
func Files(pid int) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(entries)
}

// Number reads one; 0 if it is none.
func Number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return value
}

// FolderSize gives the bytes of the files in a folder.
func FolderSize(folder string) (bytes int64, err error) {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return bytes, err
}
