package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// Prefix is that of the activities that Task.run calls: the program's own of the name, or else the
// service of the name that a worker offers.
const Prefix = "task:"

// request is something that the script asked for, and that begins after the turn. No command may be
// given while the script is on the stack: the scheduler ends a unit there without returning.
type request struct {
	op string
	// Scope of the call: 0 is the run's own.
	Scope   int             `json:"scope"`
	Call    int64           `json:"call"`
	Name    string          `json:"name"`
	Kind    string          `json:"kind"`
	Seconds *float64        `json:"seconds"`
	Input   json.RawMessage `json:"input"`
	Options options         `json:"options"`
	Stack   string          `json:"stack"` // of the call
}

// answer is the host of the sandbox.
func (r *run) answer(op, argument string) (string, error) {
	switch op {
	case "done", "continued", "failed":
		r.ended = &ending{op, argument}
		return "", nil
	case "answered", "refused":
		return "", r.reply(op, argument)
	case "now":
		return encode(workflow.Now(r.ctx).UnixMilli())
	case "random":
		return encode(workflow.Random(r.ctx).Float64())
	case "uuid":
		return encode(workflow.UUID(r.ctx))
	case "info":
		return encode(infoOf(r.ctx))
	case "patched":
		return r.patched(argument)
	case "deprecatePatch":
		id, err := decode[string](argument)
		workflow.DeprecatePatch(r.ctx, id)
		return "", err
	case "log":
		return "", r.log(argument)
	case "publish":
		workflow.PublishState(r.ctx, json.RawMessage(argument))
		return "", nil
	case "attributes":
		return "", r.attributes(argument)
	case "continueAsNew":
		r.next = true
		return "", nil
	}
	return r.request(op, argument)
}

// request notes what begins after the turn. What is wrong with it is thrown at once.
func (r *run) request(op, argument string) (string, error) {
	asked, err := decode[request](argument)
	if err != nil {
		return "", fmt.Errorf("%s: %w", verbs[op], mistyped(err))
	}
	asked.op = op
	if err := asked.check(); err != nil {
		return "", err
	}
	r.asked = append(r.asked, asked)
	if op == "cancel" || op == "listen" {
		return "", nil
	}
	return encode(asked.id())
}

// misuse is an error that begins with what the script called.
type misuse string

func (m misuse) Error() string { return string(m) }

// verbs are what the script calls the requests.
var verbs = map[string]string{"run": "Task.run", "delay": "Task.delay", "child": "Workflow.run",
	"signal": "wait_for_signal", "listen": "a handler", "cancel": "cancel"}

func (q request) check() error {
	switch q.op {
	case "delay":
		if q.Seconds == nil || math.IsNaN(*q.Seconds) || *q.Seconds < 0 || *q.Seconds > mostSeconds {
			return misuse(fmt.Sprintf("Task.delay takes seconds, a number from 0 to %d", mostSeconds))
		}
	case "run", "child", "signal", "listen":
		if q.Name == "" {
			return fmt.Errorf("%s takes a name first, a string that is not empty", verbs[q.op])
		}
	}
	return q.Options.check(verbs[q.op], q.op)
}

// mostSeconds of a delay: 100 years.
const mostSeconds = 100 * 366 * 24 * 3600

// id is the item_id of a call.
func (q request) id() string {
	if q.Options.ID != "" {
		return q.Options.ID
	}
	kind := map[string]string{"run": "task", "delay": "timer", "child": "child", "signal": "signal"}[q.op]
	return fmt.Sprintf("%s-%d", kind, q.Call)
}

// begin does what the script asked for.
func (r *run) begin(q request) {
	place, _, _ := strings.Cut(r.script.stack(q.Stack, 1), "\n")
	workflow.At(r.ctx, inParentheses(place))
	switch q.op {
	case "cancel":
		if cancel := r.calls[q.Call]; cancel != nil {
			cancel()
		}
		return
	case "listen":
		r.listen(q)
		return
	}
	scope, known := r.scopes[q.Scope]
	if !known {
		scope = workflow.Shield(r.ctx)
		r.scopes[q.Scope] = scope
	}
	ctx, cancel := workflow.WithCancel(scope)
	r.calls[q.Call] = cancel
	switch q.op {
	case "run":
		task := activity.Declare[history.Payload, history.Payload](Prefix + q.Name).With(q.Options.activity(q.id()))
		await(r, q.Call, workflow.Start(ctx, task, payload(q.Input)))
	case "delay":
		await(r, q.Call, workflow.Timer(ctx, time.Duration(*q.Seconds*float64(time.Second))))
	case "child":
		child := workflow.Declare[history.Payload, history.Payload](q.Name).With(q.Options.child())
		await(r, q.Call, workflow.StartChild(ctx, child, payload(q.Input)))
	case "signal":
		await(r, q.Call, workflow.Receive(ctx, workflow.NewSignal[history.Payload](q.Name)))
	}
}

// await has the loop tell the script how a call ends.
func await[T any](r *run, number int64, future workflow.Future[T]) {
	workflow.AddFuture(r.selector, future, func(value T, err error) {
		result, _ := any(value).(history.Payload)
		r.settle(number, result, err)
	})
}

// payload is a value of the script; a missing one is null.
func payload(value json.RawMessage) history.Payload {
	if value == nil {
		return history.Payload("null")
	}
	return history.Payload(value)
}

// listen has a handler of the script get messages.
func (r *run) listen(q request) {
	r.handlers++
	switch q.Kind {
	case "signal":
		workflow.HandleSignal(r.ctx, workflow.NewSignal[history.Payload](q.Name),
			func(ctx workflow.Context, input history.Payload) error {
				_, err := r.mail(ctx, "signal", q.Name, input)
				return err
			})
	case "update":
		workflow.HandleUpdate(r.ctx, workflow.NewUpdate[history.Payload, history.Payload](q.Name),
			func(ctx workflow.Context, input history.Payload) (history.Payload, error) {
				return r.mail(ctx, "update", q.Name, input)
			},
			func(input history.Payload) error {
				_, err := r.box.call("validate", q.Name, text(input))
				return r.script.thrown(err)
			})
	case "query":
		workflow.HandleQuery(r.ctx, workflow.NewQuery[history.Payload, history.Payload](q.Name),
			func(input history.Payload) (history.Payload, error) {
				answer, err := r.box.call("query", q.Name, text(input))
				if err != nil {
					return nil, r.script.thrown(err)
				}
				result, _ := answer.(string)
				return history.Payload(result), nil
			})
	}
}

// mail gives a message to the loop, and waits for the script's answer.
func (r *run) mail(ctx workflow.Context, kind, name string, input history.Payload) (history.Payload, error) {
	l := &letter{kind: kind, name: name, input: input}
	r.letters = append(r.letters, l)
	r.replies++
	err := workflow.AwaitCondition(workflow.Shield(ctx), func() bool { return l.replied })
	if err != nil {
		return nil, err
	}
	return l.result, l.err
}

// number makes the number under which the script answers a letter.
func (r *run) number(l *letter) int64 {
	r.lastLetter++
	r.open[r.lastLetter] = l
	return r.lastLetter
}

// reply keeps the script's answer to a letter.
func (r *run) reply(op, argument string) error {
	said, err := decode[struct {
		Call    int64
		Result  json.RawMessage
		Failure string
	}](argument)
	l := r.open[said.Call]
	if err != nil || l == nil {
		return err
	}
	delete(r.open, said.Call)
	l.replied, l.result = true, payload(said.Result)
	r.replies--
	if op == "refused" {
		l.err = r.script.failure(said.Failure)
	}
	return nil
}

func (r *run) patched(argument string) (string, error) {
	id, err := decode[string](argument)
	if err != nil || id == "" {
		return "", misuse("Workflow.patched takes the patch's id, a string")
	}
	return encode(workflow.Patched(r.ctx, id))
}

func (r *run) log(argument string) error {
	line, err := decode[struct{ Level, Text string }](argument)
	if err != nil {
		return err
	}
	if line.Level == "info" {
		workflow.Log(r.ctx, line.Text)
	} else {
		workflow.Log(r.ctx, line.Text, "level", line.Level)
	}
	return nil
}

// attributes sets attributes; null deletes one.
func (r *run) attributes(argument string) error {
	values, err := decode[map[string]any](argument)
	if err != nil {
		return misuse("Workflow.attributes takes an object of attributes")
	}
	names := make([]string, 0, len(values))
	for name := range values { // order-insensitive: it is sorted
		names = append(names, name)
	}
	slices.Sort(names)
	var set []workflow.AttributeValue
	for _, name := range names {
		value, err := attribute(name, values[name])
		if err != nil {
			return err
		}
		set = append(set, value)
	}
	workflow.SetAttributes(r.ctx, set...)
	return nil
}

// attribute is a value of one of the types that attributes have.
func attribute(name string, value any) (workflow.AttributeValue, error) {
	switch value := value.(type) {
	case string:
		return workflow.NewAttribute[string](name).Is(value), nil
	case bool:
		return workflow.NewAttribute[bool](name).Is(value), nil
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return workflow.NewAttribute[int64](name).Is(int64(value)), nil
		}
		return workflow.NewAttribute[float64](name).Is(value), nil
	case []any:
		words := make([]string, len(value))
		for i, word := range value {
			text, ok := word.(string)
			if !ok {
				return workflow.AttributeValue{}, fmt.Errorf("attribute %s: a list has strings alone", name)
			}
			words[i] = text
		}
		return workflow.NewAttribute[[]string](name).Is(words), nil
	}
	return workflow.AttributeValue{}, fmt.Errorf(
		"attribute %s: a string, a number, true, false or a list of strings", name)
}

// info is what the script knows of its run.
type info struct {
	RunID                  string `json:"runId"`
	Workflow               string `json:"workflow"`
	Generation             int    `json:"generation"`
	Parent                 string `json:"parent,omitempty"`
	LogSize                int    `json:"logSize"`
	ContinueAsNewSuggested bool   `json:"continueAsNewSuggested"`
}

func infoOf(ctx workflow.Context) info {
	i := workflow.InfoOf(ctx)
	return info{i.RunID, i.Workflow, i.Generation, i.Parent, i.LogSize, i.ContinueAsNewSuggested}
}

func encode(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// mistyped says of an argument of another type what it is to be, in the script's words.
func mistyped(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s is to be %s, and is a %s", wrong.Field, typeName(wrong.Type.String()), wrong.Value)
	}
	return err
}

func typeName(goType string) string {
	switch {
	case goType == "string":
		return "a string"
	case strings.Contains(goType, "float") || strings.Contains(goType, "int"):
		return "a number"
	}
	return "an object"
}
