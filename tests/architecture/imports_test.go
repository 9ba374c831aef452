package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/reprise-run/reprise/"

// layer says what the packages of a folder may import of this module. The first layer that fits a package counts.
type layer struct {
	folder string
	may    []string
}

// layers, from the ground up: each knows those below, never those above.
var layers = []layer{
	{"core/history", nil},
	{"core/internal/machine", []string{"core/history"}},
	{"core/internal/scheduler", []string{"core/history", "core/internal/machine"}},
	{"core/internal/registry", []string{"core/history", "core/internal/scheduler"}},
	{"core/internal/attempt", []string{"core/history"}},
	{"core/activity", []string{"core/history", "core/internal"}},
	{"core/workflow/workflowtest", []string{"core"}},
	{"core/workflow", []string{"core/history", "core/internal", "core/activity"}},
	{"core/memory", nil},
	// The suite of the ports tries what the engine makes of unreadable data, too.
	{"core/port/porttest/memory", []string{"core/history", "core/port"}},
	{"core/port/porttest", []string{"core"}},
	{"core/port", []string{"core/history"}},
	{"core/engine", []string{"core/history", "core/internal", "core/activity", "core/memory", "core/port", "core/workflow"}},
	// Further front-ends (flows, scripts, arrays) are workflows like everybody's: nothing private.
	{"core", []string{"core/history", "core/activity", "core/workflow", "core/internal/suggest"}},
	// The stated system: clocks and the like, behind ports. Adapters know it, and never each other.
	{"infra/system", []string{"core"}},
	{"infra/aws", []string{"core/history", "core/memory", "core/port", "core/seal", "infra/system"}},
	{"infra/local/sqlite", []string{"core/history", "core/memory", "core/port", "core/seal", "infra/system"}},
	{"infra", []string{"core", "infra/system"}},
	{"workflows", []string{"core", "workflows"}},
	{"functions", []string{"core", "infra", "functions", "workflows"}},
	{"cmd", []string{"core", "infra", "cmd", "workflows"}},
	{"tests", []string{"core", "infra", "functions", "cmd", "workflows", "tests"}},
}

func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// adapter is the folder that an infra package belongs to: what is in it may know each other.
func adapter(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// against says why an import is against the direction of the layers; nil if it is not. Paths are relative to the module.
func against(pkg, imported string) error {
	for _, l := range layers {
		if !within(pkg, l.folder) {
			continue
		}
		allowed := slices.ContainsFunc(l.may, func(folder string) bool { return within(imported, folder) })
		if within(l.folder, "infra") && adapter(pkg) == adapter(imported) {
			allowed = true
		}
		// The front-ends live in folders of their own.
		if l.folder == "core" && adapter(pkg) == adapter(imported) {
			allowed = true
		}
		if !allowed {
			return fmt.Errorf("%s imports %s; packages of %s may import of this module: %s", pkg, imported, l.folder, strings.Join(l.may, ", "))
		}
		return nil
	}
	return fmt.Errorf("%s belongs to no layer: add its folder to the list in tests/architecture", pkg)
}

// packages are the module's, with what they import.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, stderr.String())
	found := map[string][]string{}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(p.ImportPath, module)] = p.Imports
	}
}

func TestImportsFollowTheLayers(t *testing.T) {
	all := packages(t)
	require.Contains(t, all, "core/history")
	for pkg, imports := range all {
		for _, imported := range imports {
			if inside, ours := strings.CutPrefix(imported, module); ours {
				if err := against(pkg, inside); err != nil {
					t.Error(err)
				}
			}
		}
		if err := against(pkg, pkg); err != nil && strings.Contains(err.Error(), "belongs to no layer") {
			t.Error(err)
		}
	}
}

// TestImportsCanFail: the test above sees what it is there to see.
func TestImportsCanFail(t *testing.T) {
	for _, edge := range [][2]string{
		{"core/history", "core/internal/machine"}, {"core/internal/machine", "core/internal/scheduler"}, {"core/internal/scheduler", "core/workflow"},
		{"core/internal/scheduler", "core/internal/registry"}, {"core/workflow", "core/engine"}, {"core/activity", "core/workflow"},
		{"core/workflow", "core/workflow/workflowtest"}, {"core/engine", "infra/local"}, {"core/flow", "core/internal/scheduler"}, {"core/flow", "core/script"}, {"core/script", "core/internal/scheduler"}, {"core/flow/expr", "core/internal/machine"}, {"core/engine", "core/flow"},
		{"infra/aws/dynamo", "infra/local/sqlite"}, {"infra/api", "infra/local"}, {"infra/local", "cmd/program"}, {"infra/system", "infra/local"},
		{"workflows/order", "infra/local"}, {"functions/api", "cmd/reprise"}, {"cmd/reprise", "functions/api"}, {"cmd/reprise", "tests/bench"}, {"stray", "core/history"},
	} {
		require.Error(t, against(edge[0], edge[1]), "%s may import %s", edge[0], edge[1])
	}
	for _, edge := range [][2]string{{"infra/aws/dynamo", "infra/aws"}, {"core/flow/parse", "core/flow"}, {"cmd/reprise", "infra/local"}, {"core/workflow", "core/internal/scheduler"}} {
		require.NoError(t, against(edge[0], edge[1]))
	}
}
