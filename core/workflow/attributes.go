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

// AttributeValue is an attribute with a value: made by [Attribute.Is].
type AttributeValue struct {
	name  string
	value any
}

// SetAttributes changes what the run is searched by. It does not wait. The run is blocked if it would have more than
// 100 attributes, one of more than 4 KB as JSON, or a name of more than 100 bytes.
func SetAttributes(ctx Context, values ...AttributeValue) {
	u := ctx.enter("SetAttributes")
	attributes := history.Attributes{}
	for _, v := range values {
		payload, err := history.Encode(v.value)
		if err != nil {
			panic(encoding("attribute "+v.name, err))
		}
		attributes[v.name] = payload
	}
	if len(attributes) > 0 {
		u.Upsert(attributes)
	}
}
