package audit

import (
	"archive/zip"
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
	cache, err := openCache(q.Cache)
	if err != nil {
		return Finding{}, err
	}
	defer func() { _ = cache.Close() }()
	m := &cached{Sum: q.Sum, cache: cache, folder: path + "@" + version, download: "cache/download/" + path + "/@v/" + version}
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
	cache    *os.Root
	folder   string // of its files
	download string // and an ending: .mod, .zip, …
}

func (m *cached) goMod() (Finding, error) {
	file := m.download + ".mod"
	if there, err := m.exists(file); !there || m.GoMod == "" {
		return Finding{Missing: true}, err
	}
	sum, err := dirhash.DefaultHash([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return m.cache.Open(file) })
	return m.compare(file, sum, m.GoMod, err)
}

func (m *cached) files() (Finding, error) {
	zipped, err := m.exists(m.download + ".zip")
	if err != nil {
		return Finding{}, err
	}
	folder, err := m.extracted()
	if err != nil || !zipped && !folder {
		return Finding{Missing: true}, err
	}
	noted, err := m.cache.ReadFile(m.download + ".ziphash")
	if errors.Is(err, fs.ErrNotExist) {
		return Finding{Problem: "the cache has lost its checksum: " + m.download + ".ziphash"}, nil
	} else if err != nil {
		return Finding{}, err
	}
	want := strings.TrimSpace(string(noted))
	if !isSum(want) {
		return Finding{Problem: m.download + ".ziphash does not contain a checksum"}, nil
	}
	if m.Files != "" && m.Files != want {
		return m.compare(m.download+".ziphash", want, m.Files, nil)
	}
	if zipped {
		sum, err := m.hashZip(m.download + ".zip")
		if finding, err := m.compare(m.download+".zip", sum, want, err); err != nil || finding.Problem != "" {
			return finding, err
		}
	}
	if folder {
		sum, err := m.hashFolder()
		return m.compare(m.folder, sum, want, err)
	}
	return Finding{}, nil
}

// hashZip is dirhash.HashZip within the cache.
func (m *cached) hashZip(name string) (string, error) {
	file, err := m.cache.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	packed, err := zip.NewReader(file, info.Size())
	if err != nil {
		return "", err
	}
	names, byName := make([]string, 0, len(packed.File)), map[string]*zip.File{}
	for _, f := range packed.File {
		names = append(names, f.Name)
		byName[f.Name] = f
	}
	return dirhash.DefaultHash(names, func(name string) (io.ReadCloser, error) { return byName[name].Open() })
}

// hashFolder is dirhash.HashDir within the cache.
func (m *cached) hashFolder() (string, error) {
	prefix := m.Path + "@" + m.Version.Version
	var names []string
	err := fs.WalkDir(m.cache.FS(), m.folder, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, prefix+strings.TrimPrefix(name, m.folder))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return dirhash.DefaultHash(names, func(name string) (io.ReadCloser, error) {
		return m.cache.Open(m.folder + strings.TrimPrefix(name, prefix))
	})
}

// extracted says whether the folder is there, and whole: see cmd/go's modfetch.DownloadDir.
func (m *cached) extracted() (bool, error) {
	if partial, err := m.exists(m.download + ".partial"); partial || err != nil {
		return false, err
	}
	if noted, err := m.exists(m.download + ".ziphash"); !noted || err != nil {
		return false, err
	}
	return m.exists(m.folder)
}

func (m *cached) compare(what, sum, want string, err error) (Finding, error) {
	if err != nil || sum == want {
		return Finding{}, err
	}
	return Finding{Problem: fmt.Sprintf("%s has been modified: its checksum is %s, not %s", what, sum, want)}, nil
}

func (m *cached) exists(name string) (bool, error) {
	_, err := m.cache.Stat(name)
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
