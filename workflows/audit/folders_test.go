package audit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/workflow/workflowtest"
	"github.com/reprise-run/reprise/workflows/audit"
)

const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ"

// TestAnAuditReachesNoKey asks for the server's keys in each way that an input allows: no failure
// may show any of their text.
func TestAnAuditReachesNoKey(t *testing.T) {
	for name, input := range map[string]audit.Input{
		"a key's path":                      {Path: "../state/token.key"},
		"a key in the working directory":    {Path: "prod.key"},
		"a go.mod elsewhere":                {Path: "../state/go.mod"},
		"an absolute path":                  {Path: "/etc/passwd"},
		"a symbolic link":                   {Path: "link/go.mod"},
		"a symbolic link to a folder":       {Path: "state/go.mod"},
		"a key as go.mod":                   {Path: "mod/go.mod"},
		"a key as go.sum":                   {Path: "sum/go.mod"},
		"a cache elsewhere":                 {Path: "go.mod", Cache: "../state"},
		"a symbolic link to another cache":  {Path: "go.mod", Cache: "state"},
		"a cache beside the working folder": {Path: "go.mod", Cache: ".."},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			for file, text := range map[string]string{
				"state/token.key": secret, "state/go.mod": secret, "work/prod.key": secret, "work/mod/go.mod": secret,
				"work/sum/go.mod": "module example.com/a\n", "work/sum/go.sum": secret + " " + secret + " " + secret + "\n",
				"work/go.mod": "module example.com/a\n",
				"work/go.sum": "example.com/tea v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
				"state/cache/download/example.com/tea/@v/v1.0.0.ziphash": secret, "state/cache/download/example.com/tea/@v/v1.0.0.zip": secret,
			} {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(base, file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(base, file), []byte(text), 0o600))
			}
			require.NoError(t, os.Mkdir(filepath.Join(base, "work", "link"), 0o755))
			require.NoError(t, os.Symlink("../../state/token.key", filepath.Join(base, "work", "link", "go.mod")))
			require.NoError(t, os.Symlink("../state", filepath.Join(base, "work", "state")))
			t.Chdir(filepath.Join(base, "work"))

			report, err := run(t, workflowtest.New(t), input)

			if err == nil { // the go.mod was good, and the cache could not be read
				require.NotEmpty(t, report.Mismatches)
				require.Contains(t, report.Mismatches[0].Problem, "cannot be checked")
				require.NotContains(t, report.Mismatches[0].Problem, secret)
				return
			}
			require.NotContains(t, err.Error(), secret)
			require.Empty(t, report)
		})
	}
}

// TestACacheInAnAllowedFolderNeedsNoHome: a Lambda function has no home folder.
func TestACacheInAnAllowedFolderNeedsNoHome(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"HOME", "GOPATH", "GOMODCACHE", "GOENV", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	sum := "example.com/tea v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	require.NoError(t, os.WriteFile("go.mod", []byte("module example.com/a\n"), 0o600))
	require.NoError(t, os.WriteFile("go.sum", []byte(sum), 0o600))
	require.NoError(t, os.Mkdir("cache", 0o700))

	report, err := run(t, workflowtest.New(t), audit.Input{Path: "go.mod", Cache: "cache"})

	require.NoError(t, err)
	require.Empty(t, report.Mismatches, "the module is not in the cache, and nothing else is wrong")
}
