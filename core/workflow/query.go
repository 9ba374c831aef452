package workflow

import "github.com/reprise-run/reprise/core/history"

// Query is a question to a run that takes an I and is answered with an O.
type Query[I, O any] struct{ name string }

// NewQuery makes a query. The name is what runs and callers know it by.
func NewQuery[I, O any](name string) *Query[I, O] { return &Query[I, O]{name: name} }

// Name is what runs and callers know the query by.
func (q *Query[I, O]) Name() string { return q.name }

// HandleQuery answers every query of this sort from the workflow's variables. It only looks: it has no context, cannot
// wait, and must not change anything. Closed runs answer, too.
func HandleQuery[I, O any](ctx Context, query *Query[I, O], answer func(I) (O, error)) {
	u := ctx.enter("HandleQuery")
	u.HandleQuery(query.name, func(input history.Payload) (history.Payload, error) {
		in, err := history.Decode[I](input)
		if err != nil {
			return nil, encoding("input of query "+query.name, err)
		}
		out, err := answer(in)
		if err != nil {
			return nil, err
		}
		result, err := history.Encode(out)
		if err != nil {
			return nil, encoding("result of query "+query.name, err)
		}
		return result, nil
	})
}

// PublishState sets what everybody sees of the run without asking it: in its summary, in listings, in `reprise get`. It
// does not wait and leaves no command. It panics if the state cannot be encoded as JSON.
func PublishState(ctx Context, state any) {
	u := ctx.enter("PublishState")
	payload, err := history.Encode(state)
	if err != nil {
		panic(encoding("published state", err))
	}
	u.Publish(payload)
}
