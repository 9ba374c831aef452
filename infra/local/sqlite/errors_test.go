package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func TestPaths(t *testing.T) {
	folder := t.TempDir()
	for path, want := range map[string]string{
		folder: "reprise.db", filepath.Join(folder, "new", "deep"): "new/deep/reprise.db", filepath.Join(folder, "a.db"): "a.db",
		filepath.Join(folder, "b.c") + "/": "b.c/reprise.db", filepath.Join(folder, "a?b#c%41.db"): "a?b#c%41.db",
	} {
		s := open(t, path, sqlite.Options{})
		require.Equal(t, filepath.Join(folder, want), s.Path())
		info, err := os.Stat(s.Path())
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), "all that runs were given is in it")
	}
	_, err := sqlite.Open("", sqlite.Options{})
	require.ErrorContains(t, err, "name a folder or a file")
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(file string)
		want  string
	}{
		"a file that is no database": {func(file string) {
			require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("no database "), 1000), 0o600))
		}, "is no database: choose another file"},
		"a database of another program": {func(file string) {
			s, err := sqlite.Open(file, sqlite.Options{})
			require.NoError(t, err)
			require.NoError(t, s.Script("PRAGMA application_id=7"))
			require.NoError(t, s.Close())
		}, "is a database of another program: choose another file"},
		"a newer schema": {func(file string) {
			s, err := sqlite.Open(file, sqlite.Options{})
			require.NoError(t, err)
			require.NoError(t, s.Script("PRAGMA user_version=99"))
			require.NoError(t, s.Close())
		}, "has schema version 99, and this program knows versions up to 7: run the newer program"},
		"a damaged file that was not closed": {func(file string) {
			s, err := sqlite.Open(file, sqlite.Options{})
			require.NoError(t, err)
			for i := range 200 {
				summary, start := newRun(fmt.Sprint("r", i))
				require.NoError(t, s.Create(t.Context(), summary, start))
			}
			require.NoError(t, s.Close())
			s, err = sqlite.Open(file, sqlite.Options{})
			require.NoError(t, err)
			require.NoError(t, s.Script("INSERT OR REPLACE INTO opened VALUES(0); PRAGMA wal_checkpoint(TRUNCATE)"))
			require.NoError(t, s.Break())
			require.NoError(t, spoilPages(file))
		}, "is damaged"},
		"a folder in the place of the file": {func(file string) {
			require.NoError(t, os.MkdirAll(filepath.Join(file, "reprise.db"), 0o700))
		}, "cannot be opened for writing: check the permissions"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "some.db")
			c.spoil(file)
			_, err := sqlite.Open(file, sqlite.Options{})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, file)
		})
	}
}

// spoilPages overwrites the middle of pages, and leaves the header of the file.
func spoilPages(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for at := 4096; at+4096 <= len(text); at += 4096 {
		copy(text[at:at+64], bytes.Repeat([]byte{0xa5}, 64))
	}
	return os.WriteFile(file, text, 0o600)
}

func TestFileInUse(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	_, err := sqlite.Open(s.Path(), sqlite.Options{})
	require.ErrorContains(t, err, s.Path()+" is in use by another process: stop that one")
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.NoError(t, s.Close())
	open(t, s.Path(), sqlite.Options{})
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Create(t.Context(), summary, start), port.ErrUnavailable)
	_, err := s.Records(t.Context(), "r", 1, 0)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.NoFileExists(t, s.Path()+"-wal", "all is in the one file")
}

func TestFullDisk(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	pages, err := s.Pages()
	require.NoError(t, err)
	require.NoError(t, s.Limit(pages+4))
	stored := 0
	for err = nil; err == nil; {
		if err = s.Put(t.Context(),
			&port.Commit{Run: "r", Generation: 1, Record: newRecord(stored + 1)}); err == nil {
			stored++
		}
	}
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.ErrorContains(t, err, s.Path()+": the disk is full, nothing was stored: free some space")
	require.Positive(t, stored)
	require.ErrorContains(t, s.Writable(), "the disk is full", "a try shows that it still is")
	require.NoError(t, s.Delete(t.Context(), "r", []string{start.Key}))
	view, err := s.Look(t.Context(), "r", port.Position{})
	require.NoError(t, err)
	require.Len(t, view.Records, stored)
	require.Empty(t, view.Inbox, "it is deleted, if not on disk yet")

	require.NoError(t, s.Limit(0))
	require.NoError(t, s.Writable(), "a try shows that there is room again, though no caller has "+
		"written since")
	require.NoError(t, s.Put(t.Context(),
		&port.Commit{Run: "r", Generation: 1, Record: newRecord(stored + 1)}))
	tasks, err := s.TasksOf(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, tasks, "the tries left nothing behind")
	require.NoError(t, s.Close())
	view, err = open(t, s.Path(), sqlite.Options{}).Look(t.Context(), "r", port.Position{})
	require.NoError(t, err)
	require.Len(t, view.Records, stored+1)
	require.Empty(t, view.Inbox)
}

func TestFailedConnectionIsOpenedAgain(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	_, item := newRun("r")
	item.Key, item.Durable = "volatile", false
	_, _, err := s.File(t.Context(), "r", item)
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), "r", []string{start.Key}))
	require.NoError(t, s.Break())
	view, err := s.Look(t.Context(), "r", port.Position{})
	require.NoError(t, err)
	require.Len(t, view.Inbox, 1)
	require.NoError(t, s.Put(t.Context(),
		&port.Commit{Run: "r", Generation: 1, Record: newRecord(1)}))
	require.ErrorIs(t, s.Put(t.Context(),
		&port.Commit{Run: "r", Generation: 1, Record: newRecord(1)}), port.ErrTaken)
	view, err = s.Look(t.Context(), "r", port.Position{})
	require.NoError(t, err)
	require.Len(t, view.Inbox, 1)
	require.Len(t, view.Records, 1)
}

// Damage may make a column something else than it was; the file is then as sound as ever in SQLite's eyes.
func TestAColumnOfAnotherTypeIsDamage(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{HotRuns: 1})
	for _, run := range []string{"a", "b", "c"} {
		summary, start := newRun(run)
		require.NoError(t, s.Create(t.Context(), summary, start))
		require.NoError(t, s.Put(t.Context(),
			&port.Commit{Run: run, Generation: 1, Record: newRecord(1)}))
	}
	require.NoError(t, s.Script("UPDATE record SET record = 'text' WHERE key >> 24 = 1; UPDATE inbox SET key = x'00' WHERE run = 2"))
	_, err := s.Look(t.Context(), "a", port.Position{})
	require.ErrorIs(t, err, history.ErrUnreadable)
	_, err = s.Look(t.Context(), "b", port.Position{})
	require.ErrorContains(t, err, s.Path()+" is damaged (a column has a value of another type")
	_, err = s.Look(t.Context(), "c", port.Position{})
	require.NoError(t, err)
}
