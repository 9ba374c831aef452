package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/reprise-run/reprise/core/activity"
)

// Listing is what go.mod and go.sum say.
type Listing struct {
	Module string `json:"module"`
	Cache  string `json:"cache"`
	Sums   []Sum  `json:"sums"`
	// Unrecorded are required by go.mod, and go.sum does not know them.
	Unrecorded []Version `json:"unrecorded,omitempty"`
}

// Version is a module at a version.
type Version struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Sum is what go.sum knows of a module: checksums of all its files, of its go.mod, or of both.
type Sum struct {
	Version
	Files string `json:"files,omitempty"`
	GoMod string `json:"goMod,omitempty"`
}

func list(_ context.Context, input Input) (Listing, error) {
	text, err := os.ReadFile(input.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Listing{}, activity.NonRetryable(err)
	} else if err != nil {
		return Listing{}, err
	}
	file, err := modfile.Parse(input.Path, text, nil)
	if err == nil && file.Module == nil {
		err = fmt.Errorf("%s names no module", input.Path)
	}
	if err != nil {
		return Listing{}, activity.NonRetryable(err)
	}
	sums, err := readSums(filepath.Join(filepath.Dir(input.Path), "go.sum"))
	if err != nil {
		return Listing{}, err
	}
	cache := input.Cache
	if cache == "" {
		if cache, err = findCache(); err != nil {
			return Listing{}, activity.NonRetryable(err)
		}
	}
	return Listing{Module: file.Module.Mod.Path, Cache: cache, Sums: sums, Unrecorded: unrecorded(file, sums)}, nil
}

// readSums reads a go.sum, in its order. A module without dependencies needs none.
func readSums(file string) ([]Sum, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var sums []Sum
	at := map[Version]int{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 3 {
			return nil, activity.NonRetryable(fmt.Errorf("%s:%d: module, version and checksum expected", file, number))
		}
		version, goMod := strings.CutSuffix(fields[1], "/go.mod")
		v := Version{fields[0], version}
		i, known := at[v]
		if !known {
			i = len(sums)
			at[v] = i
			sums = append(sums, Sum{Version: v})
		}
		if goMod {
			sums[i].GoMod = fields[2]
		} else {
			sums[i].Files = fields[2]
		}
	}
	return sums, nil
}

// unrecorded gives what go.mod requires and go.sum has no checksum of. What is replaced by a folder needs none.
func unrecorded(file *modfile.File, sums []Sum) (missing []Version) {
	replaced := map[module.Version]module.Version{}
	for _, r := range file.Replace {
		replaced[r.Old] = r.New
	}
	for _, r := range file.Require {
		mod, ok := replaced[r.Mod]
		if !ok {
			mod, ok = replaced[module.Version{Path: r.Mod.Path}]
		}
		if !ok {
			mod = r.Mod
		}
		recorded := slices.ContainsFunc(sums, func(s Sum) bool { return s.Path == mod.Path && s.Version.Version == mod.Version && s.GoMod != "" })
		if mod.Version != "" && !recorded {
			missing = append(missing, Version{mod.Path, mod.Version})
		}
	}
	return missing
}
