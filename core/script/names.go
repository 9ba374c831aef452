package script

import (
	"iter"
	"reflect"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// names finds names that nothing declares. It knows scopes of functions, not those of blocks: a name
// that is used outside of its block is found when the script runs.
type names struct{ uses []use }

// use is a place where a name is read or assigned.
type use struct {
	name  string
	at    file.Idx
	scope *scope
	write bool
}

// scope is what a function declares.
type scope struct {
	outer    *scope
	declared map[string]bool
}

func (s *scope) inner() *scope { return &scope{s, map[string]bool{}} }

// names gives the names that are declared here and around.
func (s *scope) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; s != nil && s.outer != nil; s = s.outer {
			for name := range s.declared { // order-insensitive: the caller sorts
				if !yield(name) {
					return
				}
			}
		}
	}
}

func (s *scope) knows(name string) bool {
	for ; s != nil; s = s.outer {
		if s.declared[name] {
			return true
		}
	}
	return false
}

// unknown gives the uses of names that nothing declares, in the order of the source. With implicit, an
// assignment declares a name.
func unknown(program *ast.Program, global []string, implicit bool) []use {
	top := (*scope)(nil).inner()
	for _, name := range global {
		top.declared[name] = true
	}
	n := &names{}
	n.function(top, program.Body)
	for _, u := range n.uses {
		if u.write && implicit {
			top.declared[u.name] = top.declared[u.name] || !u.scope.knows(u.name)
		}
	}
	n.uses = slices.DeleteFunc(n.uses, func(u use) bool { return u.scope.knows(u.name) })
	slices.SortFunc(n.uses, func(a, b use) int { return int(a.at - b.at) })
	return slices.CompactFunc(n.uses, func(a, b use) bool { return a.at == b.at })
}

// function looks at the code of a function: first at what it declares, then at what it uses.
func (n *names) function(s *scope, code any) {
	n.declare(s, reflect.ValueOf(code))
	n.use(s, reflect.ValueOf(code))
}

// declare notes the names that code declares, without those of functions in it.
func (n *names) declare(s *scope, code reflect.Value) {
	if !code.IsValid() || isNil(code) {
		return
	}
	switch node := code.Interface().(type) {
	case *ast.FunctionDeclaration:
		s.name(node.Function.Name)
		return
	case *ast.ClassDeclaration:
		s.name(node.Class.Name)
		return
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		return
	case *ast.Binding:
		s.pattern(node.Target)
	case *ast.ForDeclaration:
		s.pattern(node.Target)
	case *ast.CatchStatement:
		if node.Parameter != nil {
			s.pattern(node.Parameter)
		}
	}
	parts(code, func(part reflect.Value) { n.declare(s, part) })
}

func (s *scope) name(id *ast.Identifier) {
	if id != nil {
		s.declared[string(id.Name)] = true
	}
}

// pattern declares the names of a destructuring pattern, or the one name.
func (s *scope) pattern(target ast.Expression) {
	switch target := target.(type) {
	case *ast.Identifier:
		s.name(target)
	case *ast.AssignExpression: // with a default
		s.pattern(target.Left)
	case *ast.Binding:
		s.pattern(target.Target)
	case *ast.ArrayPattern:
		for _, element := range target.Elements {
			s.pattern(element)
		}
		s.pattern(target.Rest)
	case *ast.ObjectPattern:
		for _, property := range target.Properties {
			switch property := property.(type) {
			case *ast.PropertyShort:
				s.name(&property.Name)
			case *ast.PropertyKeyed:
				s.pattern(property.Value)
			}
		}
		s.pattern(target.Rest)
	}
}

// use notes the names that code uses.
func (n *names) use(s *scope, code reflect.Value) {
	if !code.IsValid() || isNil(code) {
		return
	}
	all := func(of ...any) {
		for _, part := range of {
			n.use(s, reflect.ValueOf(part))
		}
	}
	switch node := code.Interface().(type) {
	case *ast.Identifier:
		n.uses = append(n.uses, use{string(node.Name), node.Idx, s, false})
	case *ast.FunctionLiteral:
		inner := s.inner()
		inner.name(node.Name)
		inner.declared["arguments"] = true
		n.parameters(inner, node.ParameterList)
		n.function(inner, node.Body)
	case *ast.ArrowFunctionLiteral:
		inner := s.inner()
		n.parameters(inner, node.ParameterList)
		n.function(inner, node.Body)
	case *ast.ClassLiteral:
		inner := s.inner()
		inner.name(node.Name)
		n.use(inner, reflect.ValueOf(node.SuperClass))
		n.use(inner, reflect.ValueOf(node.Body))
	case *ast.MethodDefinition:
		n.key(s, node.Key, node.Computed)
		all(node.Body)
	case *ast.FieldDefinition:
		n.key(s, node.Key, node.Computed)
		all(node.Initializer)
	case *ast.PropertyKeyed:
		n.key(s, node.Key, node.Computed)
		all(node.Value)
	case *ast.PropertyShort:
		n.uses = append(n.uses, use{string(node.Name.Name), node.Name.Idx, s, false})
		all(node.Initializer)
	case *ast.DotExpression:
		all(node.Left)
	case *ast.PrivateDotExpression:
		all(node.Left)
	case *ast.LabelledStatement:
		all(node.Statement)
	case *ast.BranchStatement, *ast.MetaProperty:
	case *ast.AssignExpression:
		n.write(s, node.Left)
		all(node.Left, node.Right)
	case *ast.ForIntoExpression:
		n.write(s, node.Expression)
		all(node.Expression)
	default:
		parts(code, func(part reflect.Value) { n.use(s, part) })
	}
}

// key looks at the name of a member, which is code only in brackets.
func (n *names) key(s *scope, key ast.Expression, computed bool) {
	if computed {
		n.use(s, reflect.ValueOf(key))
	}
}

func (n *names) parameters(inner *scope, list *ast.ParameterList) {
	if list == nil {
		return
	}
	for _, parameter := range list.List {
		inner.pattern(parameter.Target)
	}
	inner.pattern(list.Rest)
	n.use(inner, reflect.ValueOf(list))
}

// write notes the names that an assignment assigns.
func (n *names) write(s *scope, target ast.Expression) {
	assigned := &scope{declared: map[string]bool{}}
	assigned.pattern(target)
	for name := range assigned.declared { // order-insensitive: the uses are sorted
		n.uses = append(n.uses, use{name, target.Idx0(), s, true})
	}
}

var astPackage = reflect.TypeFor[ast.Program]().PkgPath()

// parts calls a function for each part of a node. Names that are no node of their own are left out.
func parts(node reflect.Value, each func(reflect.Value)) {
	switch node.Kind() {
	case reflect.Interface, reflect.Pointer:
		parts(node.Elem(), each)
	case reflect.Slice:
		for i := range node.Len() {
			each(node.Index(i))
		}
	case reflect.Struct:
		if node.Type().PkgPath() != astPackage {
			return // the value of a literal
		}
		for i := range node.NumField() {
			field := node.Field(i)
			switch field.Kind() {
			case reflect.Interface, reflect.Pointer, reflect.Slice:
				if node.Type().Field(i).Name != "DeclarationList" { // a list of what is elsewhere
					each(field)
				}
			case reflect.Struct:
				if declaration, ok := field.Addr().Interface().(*ast.LexicalDeclaration); ok {
					each(reflect.ValueOf(declaration))
				}
			}
		}
	}
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Slice:
		return v.IsNil()
	}
	return false
}
