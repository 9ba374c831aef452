package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// StartRequest asks for a run.
type StartRequest struct {
	// Run is the id of the run. Empty: one is made.
	Run      string
	Workflow string
	// Definition is the version of a published definition to run. Zero: the program's own code, if
	// it has the workflow, else the highest published version.
	Definition int
	Input      history.Payload
	Attributes history.Attributes
	// Reuse begins a new generation if the run of this id has ended. Mail that was sent to that run, and comes late, is not for
	// the new one.
	Reuse bool
}

// Start starts a run. It is idempotent by the run's id: the same start again finds the run that is
// there (created is false); another start under the same id is a [port.Conflict]. An input that
// does not fit the registered workflow is [port.Invalid]. When it returns without an error, the
// start is durable.
func (e *Engine) Start(
	ctx context.Context, request StartRequest,
) (summary *port.Summary, created bool, err error) {
	if request.Run == "" {
		request.Run = e.NewID()
	}
	if err := validate(request); err != nil {
		return nil, false, err
	}
	if err := e.fitting.check("input of workflow", request.Workflow, request.Input, e.registry.FitsWorkflow); err != nil {
		return nil, false, err
	}
	version, err := e.pin(ctx, request)
	if err != nil {
		return nil, false, err
	}
	err = e.fits(ctx, pin{request.Workflow, version}, "input of workflow", request.Input,
		Fitting.FitsInput)
	if err != nil {
		return nil, false, err
	}
	summary = &port.Summary{Run: request.Run, Workflow: request.Workflow, Definition: version,
		Generation: 1, Status: history.Running,
		Started: e.Clock.Now().UTC(), Input: request.Input, Attributes: request.Attributes}
	item := e.startItem(summary)
	summary.Start = item.Event.Filing()
	created, carrying := true, item
	message := port.Resume{Run: summary.Run, Carries: &carrying, Creates: summary}
	err = e.announce(ctx, message, func() error {
		err := e.create(ctx, message.Creates, item)
		if errors.Is(err, port.ErrTaken) {
			summary, created, err = e.startTaken(ctx, request, message.Creates.Start)
		}
		return err
	})
	if err != nil {
		return nil, false, e.unavailable(err, "the run was not started")
	}
	return summary, created, nil
}

// startTaken is what follows when there is a run of this id. The receiver of this start's message
// may have created it.
func (e *Engine) startTaken(ctx context.Context, request StartRequest, start string,
) (*port.Summary, bool, error) {
	there, err := e.Runs.Summary(ctx, request.Run)
	if err != nil {
		return nil, false, e.unavailable(err, "the run that has this id was not found out about")
	}
	if there.Start == start {
		return there, true, nil
	}
	if request.Reuse && there.Status.Closed() {
		return e.reuse(ctx, request, there)
	}
	original := there
	// continue-as-new has changed the summary's input: the first start is what counts
	if there.Generation > 1 && !sameStart(there, request) {
		if original, err = e.firstStart(ctx, there); err != nil {
			return nil, false, err
		}
	}
	if !sameStart(original, request) {
		return nil, false, port.Errorf(port.Conflict, "a run with the id %q exists, of workflow "+
			"%s with another input: choose another id, or leave it out",
			request.Run, there.Workflow)
	}
	return there, false, nil
}

func (e *Engine) firstStart(ctx context.Context, there *port.Summary) (*port.Summary, error) {
	records, err := e.Runs.Records(ctx, there.Run, 1, 0)
	if err != nil {
		return nil, e.unavailable(err, "the run that has this id was not found out about")
	}
	first := *there
	if started := history.StartIn(records); started != nil {
		first.Workflow, first.Definition = started.Workflow, started.Definition
		first.Input = started.Input
	}
	return &first, nil
}

// reuse begins a new generation of a run that has ended.
func (e *Engine) reuse(
	ctx context.Context, request StartRequest, there *port.Summary,
) (*port.Summary, bool, error) {
	summary := &port.Summary{Run: request.Run, Workflow: request.Workflow,
		Generation: there.Generation + 1, Status: history.Running,
		Started:    later(e.Clock.Now().UTC(), there.Started.Add(1)),
		Input:      request.Input,
		Attributes: request.Attributes}
	before, err := e.readLedger(ctx, there.Run, there.Generation)
	if err != nil {
		return nil, false, e.unavailable(err, "the run was not started: the log of the one before was not read")
	}
	item := e.startItem(summary)
	summary.Start = item.Event.Filing()
	before.beginAnew(item.Event.(*history.Started), summary.Started, e.config)
	created, carrying, message := true, item, unblocks(there)
	message.Carries, message.Creates = &carrying, summary
	err = e.announce(ctx, message, func() error {
		err := e.Runs.Put(ctx, reuseCommit(message.Creates, item))
		if errors.Is(err, port.ErrTaken) {
			request.Reuse = false // this start, or another one, has begun: it may even have ended
			summary, created, err = e.startTaken(ctx, request, message.Creates.Start)
		}
		return err
	})
	return summary, created, e.unavailable(err, "the run was not started")
}

// reuseCommit begins the next generation of a run that has ended.
func reuseCommit(summary *port.Summary, start port.Item) *port.Commit {
	return &port.Commit{Run: summary.Run, Generation: summary.Generation - 1, Summary: summary,
		Next: &start}
}

// sameStart says whether a run was asked for as a request asks for one. A request that leaves the
// version to the engine is the same whatever has been published since.
func sameStart(there *port.Summary, request StartRequest) bool {
	return there.Workflow == request.Workflow && sameJSON(there.Input, request.Input) &&
		(request.Definition == 0 || request.Definition == there.Definition)
}

// startItem is the item that begins a summary's generation.
func (e *Engine) startItem(summary *port.Summary) port.Item {
	started := history.NewStarted(summary.Generation, summary.Workflow, summary.Input, e.seed())
	started.Parent, started.Attributes = summary.Parent, summary.Attributes
	started.Definition = summary.Definition
	return e.newItem(started, summary.Generation, true)
}

// newItem makes a filing of an event.
func (e *Engine) newItem(event history.Event, generation int, durable bool) port.Item {
	history.File(event, e.newFiling())
	return port.Item{Key: event.Key(generation), Event: event, Stamp: e.Clock.Now().UnixNano(),
		Durable: durable}
}

// filingLength of 60 random bits tells apart the few filings that one key ever has.
const filingLength = 12

// newFiling names one filing: each has a name of its own, whatever it files.
func (e *Engine) newFiling() string { return e.NewID()[:filingLength] }

// numberOfNone draws a number that no command has, nor anything else that it was drawn for.
func (e *Engine) numberOfNone() int64 {
	number, _ := strconv.ParseInt(e.newFiling(), 36, 64) // 36¹² is less than 2⁶³
	return -1 - number
}

// seed draws a run's seed.
func (e *Engine) seed() uint64 { return binary.LittleEndian.Uint64([]byte(e.NewID())) }

// fileCarried files what a resume carries, before the run is read (rule 1).
func (e *Engine) fileCarried(ctx context.Context, message port.Resume) error {
	var err error
	switch {
	case message.Creates != nil && message.Creates.Generation > 1:
		err = e.Runs.Put(ctx, reuseCommit(message.Creates, *message.Carries))
	case message.Creates != nil:
		err = e.Runs.Create(ctx, message.Creates, *message.Carries)
	default:
		item := *message.Carries // received twice, it is filed twice: the log may have taken and tidied the first filing by then
		item.Event = history.Refile(item.Event, e.newFiling())
		_, _, err = e.Runs.File(ctx, message.Run, item)
	}
	if err != nil && !errors.Is(err, port.ErrTaken) && !errors.Is(err, port.ErrNoRun) {
		return err
	}
	if answer, ok := message.Carries.Event.(*history.ActivityResolved); ok { // its sender could not: see resolve
		key := port.TaskKey{Run: message.Run, Generation: message.Carries.Of(), Seq: answer.Seq}
		return e.Tasks.DeleteTask(ctx, key)
	}
	return nil
}

func validate(request StartRequest) error {
	if err := validID("run id", request.Run); err != nil {
		return err
	}
	if err := validName("workflow", request.Workflow); err != nil {
		return err
	}
	if err := validAttributes(request.Attributes); err != nil {
		return err
	}
	return validPayload("input", request.Input)
}

func validAttributes(attributes history.Attributes) error {
	switch err := attributes.Check(); {
	case errors.Is(err, history.ErrLimit):
		return port.Errorf(port.TooLarge, "%v", err)
	case err != nil:
		return port.Errorf(port.Invalid, "%v", err)
	}
	return nil
}

func validText(what, text string) error {
	if len(text) > port.LongestText {
		return port.Errorf(port.TooLarge, "the %s has %d bytes, the limit is %d", what, len(text),
			port.LongestText)
	}
	return nil
}

func validID(what, id string) error {
	switch {
	case len(id) > port.LongestID:
		return port.Errorf(port.TooLarge, "the %s has %d bytes, the limit is %d", what, len(id),
			port.LongestID)
	case id == "." || id == "..":
		return port.Errorf(port.Invalid, "the %s %q is not allowed: in an address it would mean "+
			"another place", what, id)
	// what stands for text that was not Unicode is the same for all such text
	case !utf8.ValidString(id) || strings.ContainsRune(id, utf8.RuneError):
		return port.Errorf(port.Invalid, "the %s is not valid Unicode", what)
	case strings.ContainsFunc(id, func(r rune) bool {
		return unicode.IsControl(r) || r == '#' || r == '/'
	}):
		return port.Errorf(port.Invalid, "the %s %q has a character that is not allowed: no "+
			"control characters, no # and no /", what, id)
	}
	return nil
}

// plainText says whether a string can be shown as it is.
func plainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

func validName(what, name string) error {
	switch {
	case name == "":
		return port.Errorf(port.Invalid, "the name of the %s is missing", what)
	case !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError):
		return port.Errorf(port.Invalid, "the name of the %s is not valid Unicode", what)
	case len(name) > port.LongestName:
		return port.Errorf(port.TooLarge, "the name of the %s has %d bytes, the limit is %d", what,
			len(name), port.LongestName)
	case !plainText(name):
		return port.Errorf(port.Invalid, "the name of the %s, %q, must be UTF-8 without control "+
			"characters", what, name)
	}
	return nil
}

func validPayload(what string, payload history.Payload) error {
	if len(payload) > history.MaxPayload {
		return port.Errorf(port.TooLarge, "the %s has %d bytes, the limit is %d: store it "+
			"elsewhere and pass where it is", what, len(payload), history.MaxPayload)
	}
	if payload != nil && !json.Valid(payload) {
		var value any
		return port.Errorf(port.Invalid, "the %s is not JSON: %v", what,
			json.Unmarshal(payload, &value))
	}
	if history.TooDeep(payload) {
		return port.Errorf(port.TooLarge, "the %s is nested more deeply than %d levels", what,
			history.MaxDepth)
	}
	return nil
}

func sameJSON(a, b history.Payload) bool {
	if a.Equal(b) {
		return true
	}
	x, ok := parsed(a)
	y, also := parsed(b)
	return ok && also && reflect.DeepEqual(x, y)
}

// parsed is a JSON value whose numbers keep their digits.
func parsed(payload history.Payload) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	return value, decoder.Decode(&value) == nil
}
