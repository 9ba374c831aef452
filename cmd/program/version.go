package program

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/system"
)

// module is this one's path: in other programs, a dependency.
const module = "github.com/reprise-run/reprise"

// versions is the document of version.
type versions struct {
	// Program is this program's own version.
	Program string `json:"program"`
	// Reprise is the version of the engine in it.
	Reprise string `json:"reprise"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program, of its engine and of Go",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			document := versions{Program: version(), Reprise: engineVersion(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
			p.print(document, func(w io.Writer) {
				fmt.Fprintf(w, "%s %s (engine %s, %s, %s)\n", p.name, document.Program, document.Reprise, document.Go, document.System)
			})
			return nil
		},
	}
}

const unversioned = "(devel)"

// version is that of the program, as go build has noted it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	if given := info.Main.Version; given != "" && given != unversioned {
		return given
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return setting.Value[:12]
		}
	}
	return unversioned
}

// deploymentVersion tells this program's code from what ran before: the commit it was built from, its
// version, or else a hash of the executable.
func deploymentVersion() string {
	if revision := system.Revision(); revision != "" {
		return revision
	}
	if given := version(); strings.HasPrefix(given, "v") && !strings.HasSuffix(given, "+dirty") {
		return given
	}
	if hash, err := system.Executable(); err == nil {
		return hash
	}
	return version()
}

func engineVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return version()
}
