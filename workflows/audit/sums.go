package audit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
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
	if filepath.Base(input.Path) != "go.mod" {
		return Listing{}, activity.NonRetryable(fmt.Errorf("input.path %q must name a go.mod", input.Path))
	}
	folder, err := open(filepath.Dir(input.Path))
	if err != nil {
		return Listing{}, err
	}
	defer func() { _ = folder.Close() }()
	file, err := readMod(folder)
	if err != nil {
		return Listing{}, err
	}
	sums, err := readSums(folder)
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

// readMod reads the go.mod. Its errors quote nothing: a caller may not read what is not a go.mod.
func readMod(folder *os.Root) (*modfile.File, error) {
	text, err := folder.ReadFile("go.mod")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, activity.NonRetryable(err)
	} else if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	var lines modfile.ErrorList
	switch {
	case errors.As(err, &lines):
		err = fmt.Errorf("go.mod:%d: this line cannot be parsed; see go mod edit -json", lines[0].Pos.Line)
	case err != nil:
		err = errors.New("go.mod cannot be parsed; see go mod edit -json")
	case file.Module == nil:
		err = errors.New("go.mod names no module")
	}
	if err != nil {
		return nil, activity.NonRetryable(err)
	}
	return file, nil
}

// readSums reads a go.sum, in its order. A module without dependencies needs none. Its errors quote nothing.
func readSums(folder *os.Root) ([]Sum, error) {
	text, err := folder.ReadFile("go.sum")
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
		if len(fields) != 3 || !isSum(fields[2]) || module.CheckPath(fields[0]) != nil {
			return nil, activity.NonRetryable(fmt.Errorf("go.sum:%d: module, version and checksum expected", number))
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

// isSum says whether a text is a checksum as go.sum has them.
func isSum(text string) bool {
	hash, ok := strings.CutPrefix(text, "h1:")
	sum, err := base64.StdEncoding.DecodeString(hash)
	return ok && err == nil && len(sum) == sha256.Size
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
