package compat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	v1 "github.com/reprise-run/reprise/tests/compat/v1"
)

// versions has, for each folder of logs, the code that they are replayed with.
var versions = map[string][]workflow.Definition{"v1": v1.Definitions()}

// logs lists the files of all versions.
func logs(t *testing.T) (files []string) {
	t.Helper()
	files, err := filepath.Glob("v*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// TestLogsReplay: today's code decides what the logs say, as the command replay finds out.
func TestLogsReplay(t *testing.T) {
	for version, definitions := range versions {
		t.Run(version, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := program.Run(context.Background(), []string{"reprise", "replay", version, "--output", "json"}, nil, &out, &errs, definitions...)
			var said struct {
				Agrees bool
				Files  []struct {
					File, Closed, Error, Reason, Message string
					Agrees                               bool
				}
			}
			require.NoError(t, json.Unmarshal(out.Bytes(), &said), "%s%s", &out, &errs)
			want := map[string]string{}
			for _, file := range listed(t, version) {
				want[file.name] = strings.TrimSuffix(file.standing, "open")
			}
			for _, file := range said.Files {
				require.True(t, file.Agrees, "%s: %s %s %s", file.File, file.Error, file.Reason, file.Message)
				require.Equal(t, want[filepath.Base(file.File)], file.Closed, file.File)
			}
			require.Len(t, said.Files, len(want))
			require.Zero(t, code)
		})
	}
}

// line is a line of a folder's list of files.
type line struct{ sum, name, standing string }

func listed(t *testing.T, version string) (lines []line) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(version, "files.txt"))
	require.NoError(t, err)
	for one := range strings.Lines(string(text)) {
		var l line
		_, err := fmt.Sscan(one, &l.sum, &l.name, &l.standing)
		require.NoError(t, err, one)
		lines = append(lines, l)
	}
	return lines
}

// TestLogsAreNeverEdited: each is what it was when it was recorded, and none is missing.
func TestLogsAreNeverEdited(t *testing.T) {
	count := 0
	for version := range versions {
		for _, file := range listed(t, version) {
			text, err := os.ReadFile(filepath.Join(version, file.name))
			require.NoError(t, err)
			require.Equal(t, file.sum, fmt.Sprintf("%x", sha256.Sum256(text)), "%s was edited: record another one under another name", file.name)
			count++
		}
	}
	require.Len(t, logs(t), count)
}

// TestLogsAreWrittenAsTheyWere: while the form's version is the same, what is read is written again to the byte.
func TestLogsAreWrittenAsTheyWere(t *testing.T) {
	for _, file := range logs(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		export, err := history.DecodeExport(text)
		require.NoError(t, err, file)
		if filepath.Dir(file) == folder {
			require.Equal(t, string(text), string(history.AppendExport(nil, export)), file)
		}
	}
}
