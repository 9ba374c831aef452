package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

//go:embed switch.go.txt
var switches string

const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
	packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo

// load reads and checks a package. The overlay replaces files of it.
func load(path string, overlay map[string][]byte) (*packages.Package, error) {
	found, err := packages.Load(&packages.Config{Mode: mode, Overlay: overlay}, path)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s names %d packages; name one", path, len(found))
	}
	return found[0], nil
}

// mutantsOf finds the mutants of a package, and draws some.
func mutantsOf(pkg *packages.Package, o options) (drawn []*mutant, err error) {
	f := finder{pkg: pkg}
	for _, file := range pkg.Syntax {
		name := pkg.Fset.Position(file.Package).Filename
		if !o.files.MatchString(filepath.Base(name)) {
			continue
		}
		f.file = file
		if f.text, err = os.ReadFile(name); err != nil {
			return nil, err
		}
		f.find()
	}
	f.found = slices.DeleteFunc(f.found, func(m *mutant) bool {
		return !o.only.MatchString(m.String())
	})
	for i, m := range f.found {
		m.number = i + 1
	}
	random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // repeatable on purpose
	random.Shuffle(len(f.found), func(i, j int) {
		f.found[i], f.found[j] = f.found[j], f.found[i]
	})
	drawn = f.found[:min(o.most, len(f.found))]
	slices.SortFunc(drawn, func(a, b *mutant) int { return a.number - b.number }) // outer nodes first
	return drawn, nil
}

// instrument puts all mutants into the source, each behind a switch, and gives the changed files, and
// the mutants that compile.
func instrument(path string, pkg *packages.Package, mutants []*mutant) (
	changed map[string][]byte, compile []*mutant, err error,
) {
	for {
		changed, err = rewrite(pkg, mutants)
		if err != nil {
			return nil, nil, err
		}
		checked, err := load(path, changed)
		if err != nil || len(checked.Errors) == 0 {
			return changed, mutants, err
		}
		left := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool {
			return slices.ContainsFunc(checked.Errors, func(e packages.Error) bool {
				return m.blamed(pkg.Fset, e)
			})
		})
		if len(left) == len(mutants) {
			return nil, nil, fmt.Errorf("it does not compile without mutants: %v", checked.Errors)
		}
		mutants = left
	}
}

// blamed says whether a mutant may be the cause of an error: one in its line, or a missing return
// at the end of its function.
func (m *mutant) blamed(fset *token.FileSet, e packages.Error) bool {
	place := strings.Split(e.Pos, ":")
	const file, line = 0, 1
	at, _ := strconv.Atoi(place[min(line, len(place)-1)])
	if place[file] != m.at.Filename {
		return false
	}
	if strings.Contains(e.Msg, "missing return") {
		return fset.Position(m.function.End()).Line == at && strings.HasPrefix(m.change, "the case")
	}
	return slices.ContainsFunc(m.edits, func(e edit) bool {
		return fset.Position(e.at).Line == at
	})
}

// rewrite gives the changed files, by their names. Lines stay where they are.
func rewrite(pkg *packages.Package, mutants []*mutant) (map[string][]byte, error) {
	edits := map[string][]edit{}
	for _, m := range mutants {
		for _, e := range m.edits {
			if strings.Contains(e.text, "%d") {
				e.text = fmt.Sprintf(e.text, m.number)
			}
			edits[m.at.Filename] = append(edits[m.at.Filename], e)
		}
	}
	changed := map[string][]byte{}
	for name, of := range edits {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		changed[name] = apply(pkg.Fset, text, of)
	}
	folder := filepath.Dir(pkg.GoFiles[0])
	own := strings.Replace(switches, "PACKAGE", pkg.Name, 1)
	changed[filepath.Join(folder, "mutants_switch.go")] = []byte(own)
	return changed, nil
}

// apply makes edits in a file's content. They are in the order of the tree: outer nodes come first.
func apply(fset *token.FileSet, text []byte, edits []edit) []byte {
	type placed struct {
		edit
		order int
	}
	sorted := make([]placed, len(edits))
	for i, e := range edits {
		sorted[i] = placed{e, i}
		if e.closes {
			sorted[i].order = -i - 1 // before what opens, and the innermost first
		}
	}
	slices.SortStableFunc(sorted, func(a, b placed) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.order - b.order
	})
	var out []byte
	from := 0
	for _, e := range sorted {
		to := fset.Position(e.at).Offset
		out = append(append(out, text[from:to]...), e.text...)
		from = to + e.length
	}
	return append(out, text[from:]...)
}

// writeOverlay writes the changed files, and the file that has go build take them.
func writeOverlay(folder string, changed map[string][]byte) (string, error) {
	replace := map[string]string{}
	for name, text := range changed {
		replace[name] = filepath.Join(folder, filepath.Base(name))
		if err := os.WriteFile(replace[name], text, 0o600); err != nil {
			return "", err
		}
	}
	overlay := filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}
