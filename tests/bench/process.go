package main

import (
	"os"
	"strconv"
	"strings"
)

// process is what the operating system counts for a process: where there is no /proc, nothing.
type process struct {
	CPU  float64 `json:"cpu"`  // milliseconds, in user and system mode
	RSS  float64 `json:"rss"`  // MB (of 1,048,576 bytes)
	Peak float64 `json:"peak"` // MB, of RSS
}

// self reads the counts of this process.
func self() (p process) {
	// Fields 14 and 15 count ticks of a hundredth of a second; the name in field 2 may have spaces.
	stat, err := os.ReadFile("/proc/self/stat")
	if err == nil {
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		const user, system, tick = 11, 12, 10
		p.CPU = (parse(fields[user]) + parse(fields[system])) * tick
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return p
	}
	for line := range strings.Lines(string(status)) {
		const kilobytes = 1024
		switch fields := strings.Fields(line); {
		case strings.HasPrefix(line, "VmRSS:"):
			p.RSS = parse(fields[1]) / kilobytes
		case strings.HasPrefix(line, "VmHWM:"):
			p.Peak = parse(fields[1]) / kilobytes
		}
	}
	return p
}

func parse(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return value
}
