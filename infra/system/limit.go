package system

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// usualMemory is what a machine is taken to have that does not tell: 4 GiB.
const usualMemory = 4 << 30

// Memory is how many bytes this process may use: GOMEMLIMIT if it is set, else three quarters of
// the smallest limit that its control groups (version 1 or 2) or the machine set. The rest is for
// what Go does not count: the database, stacks, buffers of the kernel.
func Memory() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return memoryOf(os.DirFS("/")) / 4 * 3
}

// memoryOf is the smallest limit that a machine's files tell.
func memoryOf(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, file := range limitFiles(root) {
		if limit, ok := readLimit(root, file); ok {
			least = min(least, limit)
		}
	}
	if total, ok := totalMemory(root); ok {
		least = min(least, total)
	}
	if least == math.MaxInt64 {
		return usualMemory
	}
	return least
}

// limitFiles are where the limits of the process's control groups are, up to the root of each
// hierarchy. In a container the hierarchy that is mounted often begins with the container's own
// group, which is its root then.
func limitFiles(root fs.FS) (files []string) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		folder, file := "sys/fs/cgroup", "memory.max"
		if controllers != "" {
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if !ok || controllers != "" && !strings.Contains(","+controllers+",", ",memory,") {
			continue
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			files = append(files, path.Join(folder, group, file))
			if group == "/" {
				break
			}
		}
	}
	return files
}

// readLimit reads a file that holds one number; "max" is none.
func readLimit(root fs.FS, file string) (int64, bool) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return limit, err == nil && limit > 0
}

// totalMemory is the machine's.
func totalMemory(root fs.FS) (int64, bool) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err == nil
		}
	}
	return 0, false
}
