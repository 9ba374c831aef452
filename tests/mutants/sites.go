package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is one small change of a package.
type mutant struct {
	number int
	at     token.Position
	change string
	// function in which it is: where a statement is missing at its end, the change is none that compiles.
	function ast.Node
	edits    []edit
}

// edit inserts text at a place of a file, in the place of the length bytes that follow there.
type edit struct {
	at     token.Pos
	length int
	text   string
	closes bool // what an edit before it began
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s", filepath.Base(m.at.Filename), m.at.Line, m.change)
}

// finder collects the mutants of a package.
type finder struct {
	pkg   *packages.Package
	file  *ast.File
	text  []byte // of the file
	path  []ast.Node
	found []*mutant
}

// harmless statements have no effect that tests could see, or make a test wait for its time limit.
var harmless = regexp.MustCompile(`^panic\(|^(defer )?[\w.]+\.` +
	`(Lock|Unlock|RLock|RUnlock|Done|Debug|Info|Warn|Error|debug|info|warn|log)\(`)

// find gives all mutants of a file.
func (f *finder) find() {
	ast.PreorderStack(f.file, nil, func(n ast.Node, path []ast.Node) bool {
		f.path = path
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST && n.Tok != token.IMPORT && n.Tok != token.TYPE
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.caseOf(n)
			f.statements(n.Body)
		case *ast.CommClause:
			f.statements(n.Body)
		case *ast.IfStmt:
			f.condition(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				f.never(n.Cond)
			}
		case *ast.RangeStmt:
			f.add(n.X, "no iteration", insert(n.Body.Lbrace+1, " if mutantIs(%d) { break };"))
		case *ast.ReturnStmt:
			f.results(n)
		case *ast.CompositeLit:
			f.fields(n)
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.BasicLit:
			f.number(n)
		case *ast.Ident:
			f.boolean(n)
		}
		return true
	})
}

// add adds a mutant at a node. The verb %d of its edits stands for its number.
func (f *finder) add(n ast.Node, change string, edits ...edit) {
	var function ast.Node
	for _, node := range f.path {
		switch node.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			function = node
		}
	}
	f.found = append(f.found, &mutant{
		at: f.pkg.Fset.Position(n.Pos()), function: function, edits: edits,
		change: change + ": " + f.source(n),
	})
}

// source is the first line of a node.
func (f *finder) source(n ast.Node) string {
	from, to := f.pkg.Fset.Position(n.Pos()).Offset, f.pkg.Fset.Position(n.End()).Offset
	line, _, _ := strings.Cut(string(f.text[from:to]), "\n")
	return line
}

func insert(at token.Pos, text string) edit { return edit{at: at, text: text} }

func wrap(n ast.Node, before, after string) []edit {
	return []edit{{at: n.Pos(), text: before}, {at: n.End(), text: after, closes: true}}
}

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || f.source(s)[:1] == "_" {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		default:
			continue
		}
		if !harmless.MatchString(f.source(s)) {
			f.add(s, "dropped", wrap(s, "if !mutantIs(%d) { ", " }")...)
		}
	}
}

// caseOf drops a case: a condition never holds, a value's statements are left out.
func (f *finder) caseOf(c *ast.CaseClause) {
	if of, ok := f.path[len(f.path)-2].(*ast.SwitchStmt); ok && of.Tag == nil && len(c.List) > 0 {
		for _, condition := range c.List {
			f.never(condition)
		}
		return
	}
	if last := len(c.Body) - 1; last >= 0 {
		f.add(c, "the case does nothing", insert(c.Body[0].Pos(), "if !mutantIs(%d) { "),
			edit{at: c.Body[last].End(), text: " }", closes: true})
	}
}

// condition makes a condition hold always, or never. For one that joins several, binary leaves out
// one of them, which is a smaller change.
func (f *finder) condition(e ast.Expr) {
	joined, ok := e.(*ast.BinaryExpr)
	if !ok || joined.Op != token.LAND {
		f.always(e)
	}
	if !ok || joined.Op != token.LOR {
		f.never(e)
	}
}

func (f *finder) always(e ast.Expr) {
	f.add(e, "holds always", wrap(e, "(", " || mutantIs(%d))")...)
}

func (f *finder) never(e ast.Expr) {
	f.add(e, "never holds", wrap(e, "((", ") && !mutantIs(%d))")...)
}

var ordered = map[token.Token][2]string{
	token.LSS: {"mutantLess", "<="}, token.LEQ: {"mutantAtMost", "<"},
	token.GTR: {"mutantGreater", ">="}, token.GEQ: {"mutantAtLeast", ">"},
	token.ADD: {"mutantPlus", "-"}, token.SUB: {"mutantMinus", "+"},
}

func (f *finder) binary(e *ast.BinaryExpr) {
	if f.pkg.TypesInfo.Types[e].Value != nil { // a constant
		return
	}
	switch e.Op {
	case token.LAND, token.LOR:
		change := f.never
		if e.Op == token.LAND {
			change = f.always
		}
		for _, side := range []ast.Expr{e.X, e.Y} {
			if joined, ok := side.(*ast.BinaryExpr); !ok || joined.Op != e.Op {
				change(side)
			}
		}
	default:
		swapped, ok := ordered[e.Op]
		basic, isBasic := f.pkg.TypesInfo.TypeOf(e.X).Underlying().(*types.Basic)
		arithmetic := e.Op == token.ADD || e.Op == token.SUB
		if ok && isBasic && (!arithmetic || basic.Info()&types.IsNumeric != 0) {
			edits := wrap(e, swapped[0]+f.typed(e.X)+"(%d, ", ")")
			edits = append(edits, edit{at: e.OpPos, length: len(e.Op.String()), text: ","})
			f.add(e, fmt.Sprintf("%s for %s", swapped[1], e.Op), edits...)
		}
	}
}

// typed names the type of an expression, as an argument of a generic function. Where the file cannot
// name it, the compiler may find it out.
func (f *finder) typed(e ast.Expr) string {
	named := true
	name := types.TypeString(f.pkg.TypesInfo.TypeOf(e), func(other *types.Package) string {
		if other == f.pkg.Types {
			return ""
		}
		for _, spec := range f.file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path == other.Path() {
				if spec.Name != nil {
					return spec.Name.Name
				}
				return other.Name()
			}
		}
		named = false
		return other.Name()
	})
	if !named || strings.HasPrefix(name, "untyped") {
		return ""
	}
	return "[" + name + "]"
}

func (f *finder) results(r *ast.ReturnStmt) {
	for _, e := range r.Results {
		of := f.pkg.TypesInfo.Types[e]
		switch {
		case of.Type == nil || of.IsNil() || of.Value != nil:
		case of.Type == types.Universe.Lookup("error").Type():
			f.add(e, "returned without its error", wrap(e, "mutantNil(%d, ", ")")...)
		case types.Identical(types.Default(of.Type), types.Typ[types.Bool]):
			f.add(e, "returned negated", wrap(e, "((", ") != mutantIs(%d))")...)
		}
	}
}

func (f *finder) fields(l *ast.CompositeLit) {
	if _, ok := f.pkg.TypesInfo.TypeOf(l).Underlying().(*types.Struct); !ok {
		return
	}
	for _, element := range l.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if ok && !f.pkg.TypesInfo.Types[field.Value].IsNil() {
			zero := "mutantZero" + f.typed(field.Key) + "(%d, "
			f.add(field, "left empty", wrap(field.Value, zero, ")")...)
		}
	}
}

func (f *finder) number(l *ast.BasicLit) {
	if l.Kind == token.INT {
		f.add(l, "one more", wrap(l, "mutantMore"+f.typed(l)+"(%d, ", ")")...)
	}
}

func (f *finder) boolean(i *ast.Ident) {
	of := f.pkg.TypesInfo.Uses[i]
	if of == types.Universe.Lookup("true") || of == types.Universe.Lookup("false") {
		f.add(i, "negated", wrap(i, "(", " != mutantIs(%d))")...)
	}
}
