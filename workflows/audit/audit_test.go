package audit_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"github.com/reprise-run/reprise/core/workflow/workflowtest"
	"github.com/reprise-run/reprise/workflows/audit"
)

func run(t *testing.T, env *workflowtest.Env, input audit.Input) (audit.Report, error) {
	t.Helper()
	env.Register(audit.List, audit.Check)
	return workflowtest.Run(env, audit.Workflow, input)
}

// goModVerify starts the go command, and gives what waits for its verdict, and for what it printed.
func goModVerify(t *testing.T, folder string) (wait func() (audit.Verdict, string)) {
	t.Helper()
	var out strings.Builder
	command := exec.CommandContext(t.Context(), "go", "mod", "verify")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	command.Stdout, command.Stderr = &out, &out
	require.NoError(t, command.Start())
	return func() (audit.Verdict, string) {
		if err := command.Wait(); err != nil {
			return audit.Modified, out.String()
		}
		return audit.Verified, out.String()
	}
}

func TestVerdictOnThisRepositoryIsThatOfGoModVerify(t *testing.T) {
	root := filepath.Join("..", "..")
	t.Setenv(audit.Folders, root)
	env := workflowtest.New(t)
	expected := goModVerify(t, root) // meanwhile: some modules have thousands of files

	report, err := run(t, env, audit.Input{Path: filepath.Join(root, "go.mod")})

	verdict, printed := expected()
	require.NoError(t, err)
	require.Equal(t, verdict, report.Verdict, "%+v\n%s", report, printed)
	require.Equal(t, "github.com/reprise-run/reprise", report.Module)
	require.Equal(t, report.Modules, report.Verified+report.Missing+report.Failed)
	require.Positive(t, report.Verified)
	require.Equal(t, audit.Progress{Checked: report.Modules, Total: report.Modules, Failed: report.Failed}, workflowtest.State[audit.Progress](env))
}

// tea is a folder with a module cache that holds one module, and with a program that requires it.
type tea string

const (
	folder   = "cache/example.com/tea@v1.0.0/"
	download = "cache/cache/download/example.com/tea/@v/v1.0.0"
)

func (m tea) path(name string) string { return filepath.Join(string(m), filepath.FromSlash(name)) }
func (m tea) input() audit.Input {
	return audit.Input{Path: m.path("program/go.mod")}
}

func (m tea) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(m.path(name)), 0o755))
	require.NoError(t, os.WriteFile(m.path(name), []byte(text), 0o644))
}

func newTea(t *testing.T) tea {
	t.Helper()
	m := tea(t.TempDir())
	t.Setenv(audit.Folders, string(m))
	t.Setenv("GOMODCACHE", m.path("cache"))
	const goMod = "module example.com/tea\n\ngo 1.26\n"
	m.write(t, folder+"go.mod", goMod)
	m.write(t, folder+"tea.go", "package tea\n\nconst Minutes = 3\n")
	m.write(t, download+".mod", goMod)
	m.write(t, download+".info", `{"Version":"v1.0.0"}`)

	packed, err := os.Create(m.path(download + ".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromDir(packed, module.Version{Path: "example.com/tea", Version: "v1.0.0"}, m.path(folder)))
	require.NoError(t, packed.Close())
	files, err := dirhash.HashZip(m.path(download+".zip"), dirhash.DefaultHash)
	require.NoError(t, err)
	m.write(t, download+".ziphash", files)
	m.write(t, "only/go.mod", goMod)
	only, err := dirhash.HashDir(m.path("only"), "", dirhash.DefaultHash)
	require.NoError(t, err)

	m.write(t, "program/go.mod", "module example.com/shop\n\ngo 1.26\n\nrequire example.com/tea v1.0.0\n")
	m.write(t, "program/go.sum", fmt.Sprintf("example.com/tea v1.0.0 %s\nexample.com/tea v1.0.0/go.mod %s\n", files, only))
	return m
}

// gone is the text of a file that is removed.
const gone = ""

func TestWhatWasTamperedWithIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string // that are changed
		verdict audit.Verdict
		missing int
		problem string
	}{
		"untouched":        {nil, audit.Verified, 0, ""},
		"a file changed":   {map[string]string{folder + "tea.go": "package tea\n"}, audit.Modified, 0, "tea@v1.0.0 has been modified"},
		"a file more":      {map[string]string{folder + "milk.go": "package tea\n"}, audit.Modified, 0, "tea@v1.0.0 has been modified"},
		"the zip broken":   {map[string]string{download + ".zip": "no zip"}, audit.Modified, 0, "cannot be checked"},
		"the go.mod":       {map[string]string{download + ".mod": "module example.com/tea\n"}, audit.Modified, 0, ".mod has been modified"},
		"a checksum lost":  {map[string]string{download + ".ziphash": gone}, audit.Modified, 0, "lost its checksum"},
		"another checksum": {map[string]string{download + ".ziphash": "the secret"}, audit.Modified, 0, "does not contain a checksum"},
		"the zip gone":     {map[string]string{download + ".zip": gone}, audit.Verified, 0, ""},
		"the folder gone":  {map[string]string{folder: gone}, audit.Verified, 0, ""},
		"both gone":        {map[string]string{folder: gone, download + ".zip": gone}, audit.Verified, 1, ""},
		"half extracted":   {map[string]string{folder + "tea.go": gone, download + ".partial": "now"}, audit.Verified, 0, ""},
		"not in go.sum":    {map[string]string{"program/go.sum": gone}, audit.Modified, 0, "no checksum of it"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTea(t)
			for file, text := range c.files {
				if text == gone {
					require.NoError(t, os.RemoveAll(m.path(file)))
				} else {
					m.write(t, file, text)
				}
			}

			report, err := run(t, workflowtest.New(t), m.input())

			require.NoError(t, err)
			verdict, printed := goModVerify(t, m.path("program"))()
			require.Equal(t, c.verdict, verdict, printed)
			require.Equal(t, c.verdict, report.Verdict, "%+v", report)
			require.Equal(t, c.missing, report.Missing)
			if c.problem != "" {
				require.Len(t, report.Mismatches, 1)
				require.Contains(t, report.Mismatches[0].Problem, c.problem)
				require.Equal(t, "example.com/tea", report.Mismatches[0].Module)
			}
		})
	}
}

func TestManyProblemsAreCountedAndSomeListed(t *testing.T) {
	env := workflowtest.New(t)
	workflowtest.Mock(env, audit.List, func(context.Context, audit.Input) (audit.Listing, error) {
		var l audit.Listing
		for i := range 250 {
			l.Sums = append(l.Sums, audit.Sum{Version: audit.Version{Path: fmt.Sprintf("example.com/m%d", i), Version: "v1.0.0"}})
		}
		return l, nil
	})
	underWay, most := 0, 0
	workflowtest.Mock(env, audit.Check, func(ctx context.Context, _ audit.Question) (audit.Finding, error) {
		underWay++
		most = max(most, underWay)
		err := workflowtest.Sleep(ctx, 1)
		underWay--
		return audit.Finding{Problem: "changed"}, err
	})

	report, err := workflowtest.Run(env, audit.Workflow, audit.Input{})

	require.NoError(t, err)
	require.Equal(t, 250, report.Failed)
	require.Len(t, report.Mismatches, audit.MostMismatches)
	require.Equal(t, 16, most)
}

func TestWhatCannotBeReadFailsTheAudit(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, problem string
	}{
		"no go.mod":      {"program/go.mod", gone, "no such file"},
		"another go.mod": {"program/go.mod", "go 1.26\n", "names no module"},
		"another go.sum": {"program/go.sum", "one two\n", "go.sum:1: module, version and checksum expected"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTea(t)
			m.write(t, c.file, c.text)
			if c.text == gone {
				require.NoError(t, os.Remove(m.path(c.file)))
			}

			_, err := run(t, workflowtest.New(t), m.input())

			require.ErrorContains(t, err, c.problem)
		})
	}
}
