package workflow

import (
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Attribute is something of type T that runs are searched by.
type Attribute[T AttributeType] struct{ name string }

// AttributeType is what can be searched by.
type AttributeType interface {
	~string | ~bool | ~int | ~int64 | ~float64 | time.Time | []string
}

// NewAttribute makes an attribute. The name is what searches use.
func NewAttribute[T AttributeType](name string) *Attribute[T] { return &Attribute[T]{name: name} }

// Name is what searches use.
func (a *Attribute[T]) Name() string { return a.name }

// Is gives the attribute a value, for [SetAttributes].
func (a *Attribute[T]) Is(value T) AttributeValue { return AttributeValue{a.name, value} }

// None removes the attribute.
func (a *Attribute[T]) None() AttributeValue { return AttributeValue{a.name, nil} }

// Of gives the attribute's value among those of a run, as a summary has them; false if the run has
// none of this type.
func (a *Attribute[T]) Of(attributes history.Attributes) (T, bool) {
	var none T
	payload, there := attributes[a.name]
	if !there {
		return none, false
	}
	value, err := history.Decode[T](payload)
	return value, err == nil
}

// Containing is a filter for runs whose list attribute has this element.
func Containing(attribute *Attribute[[]string], element string) AttributeFilter {
	return containing{attribute.name, element}
}

// AttributeValue is an attribute with a value: made by [Attribute.Is]. As a filter it selects runs
// with this value.
type AttributeValue struct {
	name  string
	value any
}

// AttributeFilter selects runs by an attribute: made by [Attribute.Is] or [Containing].
type AttributeFilter interface{ filter() AttributeValue }

type containing struct{ name, element string }

func (v AttributeValue) filter() AttributeValue { return v }
func (c containing) filter() AttributeValue     { return AttributeValue{c.name, c.element} }

// AttributesOf encodes filters, or the attributes of a start, as requests to the engine and the API
// have them.
func AttributesOf[F AttributeFilter](filters ...F) (history.Attributes, error) {
	attributes := history.Attributes{}
	for _, f := range filters {
		v := f.filter()
		payload, err := history.Encode(v.value)
		if err != nil {
			return nil, encoding("attribute "+v.name, err)
		}
		attributes[v.name] = payload
	}
	return attributes, nil
}

// SetAttributes changes what the run is searched by. It does not wait. The run is blocked if it
// would have more than 100 attributes, one of more than 4 KB as JSON, or a name of more than 100
// bytes.
func SetAttributes(ctx Context, values ...AttributeValue) {
	u := ctx.enter("SetAttributes")
	attributes, err := AttributesOf(values...)
	if err != nil {
		panic(err)
	}
	if len(attributes) > 0 {
		u.Upsert(attributes)
	}
}
