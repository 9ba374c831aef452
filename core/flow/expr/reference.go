package expr

import "strings"

// Object is a JSON object with its members kept apart.
type Object interface {
	// Member gives a member's JSON; nil if there is none.
	Member(name string) []byte
	// JSON gives the whole object.
	JSON() []byte
}

// Values are what references read.
type Values struct {
	Params, Shared Object
	Input          []byte // JSON; empty is null
}

// Root says where a reference begins.
type Root string

// The roots.
const (
	Params Root = "params"
	Shared Root = "shared"
	Input  Root = "input"
)

// Roots lists the roots as they are written.
var Roots = []string{"$params", "$shared", "$input"}

// Reference names a value: $shared.order.total.
type Reference struct {
	Root Root
	Path Path
}

// ParseReference reads a reference. False: the text is not one, and stands for itself. The error
// names the mistake in the path of a reference.
func ParseReference(text string) (reference Reference, is bool, err error) {
	for _, root := range Roots {
		rest, begins := strings.CutPrefix(text, root)
		if !begins || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if rest == "." { // an empty name, and not the root itself
			rest = ".."
		}
		path, err := ParsePath(strings.TrimPrefix(rest, "."))
		return Reference{Root(root[1:]), path}, true, err
	}
	return Reference{}, false, nil
}

// In gives the value that the reference names; nil if there is none.
func (r Reference) In(v Values) []byte {
	switch r.Root {
	case Params:
		return of(v.Params, r.Path)
	case Shared:
		return of(v.Shared, r.Path)
	default:
		return r.Path.In(v.Input)
	}
}

// Cost is how many bytes [Reference.In] reads at most. A path is paid for by the value that it
// begins in, since that is read from its start.
func (r Reference) Cost(v Values) int {
	return r.Path.Cost(Reference{Root: r.Root, Path: r.Path.head()}.In(v))
}

func of(object Object, path Path) []byte {
	if object == nil {
		return nil
	}
	return path.Of(object)
}
