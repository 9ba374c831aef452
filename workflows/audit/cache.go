package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/reprise-run/reprise/core/activity"
)

// Question is what to check.
type Question struct {
	Cache string `json:"cache"`
	Sum   Sum    `json:"sum"`
}

// Finding is the answer: a problem, or missing from the cache, or verified.
type Finding struct {
	Problem string `json:"problem,omitempty"`
	Missing bool   `json:"missing,omitempty"`
}

// check follows cmd/go's modverify: a zip, and an extracted folder, must have the checksum that was noted when the module
// was downloaded. That in turn must be the one of go.sum, and so must that of the go.mod.
func check(_ context.Context, q Question) (Finding, error) {
	path, err := module.EscapePath(q.Sum.Path)
	if err != nil {
		return Finding{}, activity.NonRetryable(err)
	}
	version, err := module.EscapeVersion(q.Sum.Version.Version)
	if err != nil {
		return Finding{}, activity.NonRetryable(err)
	}
	m := &cached{Sum: q.Sum, folder: filepath.Join(q.Cache, filepath.FromSlash(path)+"@"+version),
		download: filepath.Join(q.Cache, "cache", "download", filepath.FromSlash(path), "@v", version)}
	goMod, err := m.goMod()
	if err != nil || goMod.Problem != "" {
		return goMod, err
	}
	files, err := m.files()
	if err == nil && files.Missing && q.Sum.Files == "" { // its go.mod is all that go.sum knows of
		return goMod, nil
	}
	return files, err
}

// cached is where a module is, if it is in the cache.
type cached struct {
	Sum
	folder   string // of its files
	download string // and an ending: .mod, .zip, …
}

func (m *cached) goMod() (Finding, error) {
	file := m.download + ".mod"
	if there, err := exists(file); !there || m.GoMod == "" {
		return Finding{Missing: true}, err
	}
	sum, err := dirhash.DefaultHash([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return os.Open(file) })
	return m.compare(file, sum, m.GoMod, err)
}

func (m *cached) files() (Finding, error) {
	zip, err := exists(m.download + ".zip")
	if err != nil {
		return Finding{}, err
	}
	folder, err := m.extracted()
	if err != nil || !zip && !folder {
		return Finding{Missing: true}, err
	}
	noted, err := os.ReadFile(m.download + ".ziphash")
	if errors.Is(err, fs.ErrNotExist) {
		return Finding{Problem: "the cache has lost its checksum: " + m.download + ".ziphash"}, nil
	} else if err != nil {
		return Finding{}, err
	}
	want := strings.TrimSpace(string(noted))
	if m.Files != "" && m.Files != want {
		return m.compare(m.download+".ziphash", want, m.Files, nil)
	}
	if zip {
		sum, err := dirhash.HashZip(m.download+".zip", dirhash.DefaultHash)
		if finding, err := m.compare(m.download+".zip", sum, want, err); err != nil || finding.Problem != "" {
			return finding, err
		}
	}
	if folder {
		sum, err := dirhash.HashDir(m.folder, m.Path+"@"+m.Version.Version, dirhash.DefaultHash)
		return m.compare(m.folder, sum, want, err)
	}
	return Finding{}, nil
}

// extracted says whether the folder is there, and whole: see cmd/go's modfetch.DownloadDir.
func (m *cached) extracted() (bool, error) {
	if partial, err := exists(m.download + ".partial"); partial || err != nil {
		return false, err
	}
	if noted, err := exists(m.download + ".ziphash"); !noted || err != nil {
		return false, err
	}
	return exists(m.folder)
}

func (m *cached) compare(what, sum, want string, err error) (Finding, error) {
	if err != nil || sum == want {
		return Finding{}, err
	}
	return Finding{Problem: fmt.Sprintf("%s has been modified: its checksum is %s, not %s", what, sum, want)}, nil
}

func exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// findCache finds the module cache as the go command does.
func findCache() (string, error) {
	settings, err := goSettings()
	if err != nil {
		return "", err
	}
	if dir := settings("GOMODCACHE"); dir != "" {
		return dir, nil
	}
	if path := filepath.SplitList(settings("GOPATH")); len(path) > 0 && path[0] != "" {
		return filepath.Join(path[0], "pkg", "mod"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, "go", "pkg", "mod"), err
}

// goSettings gives the settings of the go command: those of the environment, then those that go env -w has written.
func goSettings() (get func(name string) string, err error) {
	file := os.Getenv("GOENV")
	if file == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			return os.Getenv, nil //nolint:nilerr // without a home there is no such file, and the go command does without
		}
		file = filepath.Join(folder, "go", "env")
	}
	if file == "off" {
		return os.Getenv, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Getenv, nil
	} else if err != nil {
		return nil, err
	}
	return func(name string) string {
		if value := os.Getenv(name); value != "" {
			return value
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
				return value
			}
		}
		return ""
	}, nil
}
