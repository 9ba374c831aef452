package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// Mismatch says how a command differs from the log. Codes are part of the API: never renamed.
type Mismatch string

const (
	Missing   Mismatch = "missing-command"   // the log has a command that the code did not emit
	Extra     Mismatch = "extra-command"     // the code emitted a command that the log does not have
	Reordered Mismatch = "reordered-command" // the log has it, at another position of the same record
	Changed   Mismatch = "changed-command"   // the same kind at the same position, with other fields
)

// Nondeterminism says that the code no longer decides what the log says it decided. It fails the activation, never the
// run (S1.36): the run is blocked, and goes on once code that agrees with its log is deployed.
type Nondeterminism struct {
	Mismatch Mismatch
	Record   int // number of the record
	Position int // of the command within the record, from 1
	Unit     string
	// Recorded is what the log has there, Attempted what the code did; one of them may be nil.
	Recorded, Attempted history.Command
	// Where the code made the attempted call: file and line. Empty if that is not known.
	Where string
	// Differences between the two where they are of one kind.
	Differences []Difference
}

// Difference is one field that is not what it was.
type Difference struct{ Field, Recorded, Attempted string }

func (e *Nondeterminism) Error() string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "nondeterminism (%s) at record %d, command %d, unit %s\n", e.Mismatch, e.Record, e.Position, unitName(e.Unit))
	fmt.Fprintf(text, "  recorded:  %s\n", describe(e.Recorded))
	if e.Recorded != nil && e.Recorded.Place() != "" {
		fmt.Fprintf(text, "  called at: %s\n", e.Recorded.Place())
	}
	fmt.Fprintf(text, "  attempted: %s\n", describe(e.Attempted))
	if e.Where != "" {
		fmt.Fprintf(text, "  called at: %s\n", e.Where)
	}
	for _, d := range e.Differences {
		fmt.Fprintf(text, "  %s: recorded %s, attempted %s\n", d.Field, quote(d.Recorded), quote(d.Attempted))
	}
	cause, remedy := e.Advice()
	fmt.Fprintf(text, "  likely cause: %s\n  remedy: %s", cause, remedy)
	return text.String()
}

// Advice gives the usual cause of such a mismatch, and what to do about it.
func (e *Nondeterminism) Advice() (cause, remedy string) {
	const guard = `keep the old path for runs that are on it: if workflow.Patched(ctx, "what-changed") { new } else { old }; or deploy the code that wrote this log`
	switch e.Mismatch {
	case Missing:
		return "a call was removed, or moved behind a condition that did not hold before", guard
	case Extra:
		return "a call was added, or a condition holds now that did not hold before", guard
	case Reordered:
		return "calls were swapped, or one before this was removed, or they follow the order of a Go map, a clock or a random number of the process",
			"go over sorted keys; take time and randomness from workflow.Now, Random and UUID; for a deliberate change, " + guard
	case Changed:
	}
	if len(e.Differences) > 0 && e.Differences[0].Field == "input" {
		return "the value passed to the call is computed differently, or comes from a clock, a random number, a map's order or a global of the process",
			"take time and randomness from workflow.Now, Random and UUID and everything else from inputs and results; for a deliberate change, " + guard
	}
	return "the call was changed (another name, other options, another duration), or one was added before it", guard
}

// match holds a command against the log at the position that it comes in.
func (m *Machine) match(command history.Command) error {
	m.passDeprecated(command)
	at := len(m.emitted)
	if at >= len(m.recorded) {
		return m.mismatch(Extra, nil, command)
	}
	recorded := m.recorded[at]
	if same(recorded, command) {
		return nil
	}
	if _, mark := recorded.(*history.MarkPatch); mark {
		return m.mismatch(Missing, recorded, command) // a patch is not moved: its mark was taken out of the code
	}
	for _, other := range m.recorded[at+1:] {
		if alike(other, command) {
			return m.mismatch(Reordered, recorded, command)
		}
	}
	if recorded.Kind() == command.Kind() {
		return m.mismatch(Changed, recorded, command)
	}
	if m.longer(command) {
		return m.mismatch(Extra, recorded, command)
	}
	return m.mismatch(Missing, recorded, command)
}

// passDeprecated steps over the marks of patches that are deprecated in the log and gone from the code: that is how a patch
// ends, so a missing one is no mismatch.
func (m *Machine) passDeprecated(next history.Command) {
	for at := len(m.emitted); at < len(m.recorded); at++ {
		mark, ok := m.recorded[at].(*history.MarkPatch)
		if !ok || !mark.Deprecated || next != nil && same(mark, next) {
			return
		}
		m.emitted = append(m.emitted, mark)
	}
}

// longer guesses, for a command of another kind, that the code has one more rather than one less: nothing of its kind
// is left in the record.
func (m *Machine) longer(command history.Command) bool {
	for _, other := range m.recorded[len(m.emitted):] {
		if other.Kind() == command.Kind() {
			return false
		}
	}
	return true
}

func (m *Machine) missing() error {
	return m.mismatch(Missing, m.recorded[len(m.emitted)], nil)
}

func (m *Machine) mismatch(how Mismatch, recorded, attempted history.Command) error {
	e := &Nondeterminism{Mismatch: how, Record: m.record, Position: len(m.emitted) + 1, Recorded: recorded, Attempted: attempted}
	if attempted != nil {
		e.Unit = attempted.Unit()
	} else {
		e.Unit = recorded.Unit()
	}
	if recorded != nil && attempted != nil && recorded.Kind() == attempted.Kind() {
		e.Differences = differences(recorded, attempted)
	}
	return e
}

// same compares two commands: kind, unit, number and every field that makes it what it is (S1.28, S1.33).
func same(recorded, attempted history.Command) bool {
	if recorded.Kind() != attempted.Kind() || recorded.Unit() != attempted.Unit() {
		return false
	}
	switch attempted := attempted.(type) {
	case *history.ScheduleActivity: // by far the most frequent: no text is made
		if sameActivity(recorded.(*history.ScheduleActivity), attempted) {
			return true
		}
	case *history.MarkPatch: // code goes from Patched to DeprecatePatch while the run lives
		return recorded.(*history.MarkPatch).ID == attempted.ID
	}
	return len(differences(recorded, attempted)) == 0
}

// alike is same but for the sequence numbers: these follow the order, so a call that moved has another one.
func alike(recorded, attempted history.Command) bool {
	return recorded.Kind() == attempted.Kind() && !slices.ContainsFunc(differences(recorded, attempted), func(d Difference) bool {
		return d.Field != "seq"
	})
}

func sameActivity(a, b *history.ScheduleActivity) bool {
	return a.Seq() == b.Seq() && a.Activity == b.Activity && a.ID == b.ID && a.Inline == b.Inline &&
		(a.Input.Equal(b.Input) || sameJSON(string(a.Input), string(b.Input))) &&
		a.Options.ScheduleToStart == b.Options.ScheduleToStart && a.Options.StartToClose == b.Options.StartToClose &&
		a.Options.ScheduleToClose == b.Options.ScheduleToClose && a.Options.Heartbeat == b.Options.Heartbeat &&
		a.Options.Cancellation == b.Options.Cancellation &&
		(a.Options.Retry.IsZero() && b.Options.Retry.IsZero() || a.Options.Retry.String() == b.Options.Retry.String())
}

func differences(recorded, attempted history.Command) (found []Difference) {
	if a, b := recorded.Unit(), attempted.Unit(); a != b {
		found = append(found, Difference{"unit", unitName(a), unitName(b)})
	}
	if a, ok := recorded.(history.Sequenced); ok {
		if b := attempted.(history.Sequenced); a.Seq() != b.Seq() {
			found = append(found, Difference{"seq", fmt.Sprint(a.Seq()), fmt.Sprint(b.Seq())})
		}
	}
	a, b := recorded.Fields(), attempted.Fields()
	for i := range max(len(a), len(b)) {
		var x, y history.Field
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		name := x.Name
		if name == "" {
			name = y.Name
		}
		if x.Name != y.Name || x.Value != y.Value && !sameText(x.Value, y.Value) {
			found = append(found, Difference{name, x.Value, y.Value})
		}
	}
	return
}

// sameText forgives what storing changes in a text: bytes that are not UTF-8 come back replaced.
func sameText(recorded, attempted string) bool {
	return recorded == string([]rune(attempted)) || sameJSON(recorded, attempted)
}

// sameJSON forgives white space: an exported history may have been formatted by another tool.
func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// unitName is a unit's path as people see it: the root's is empty.
func unitName(path string) string {
	if path == "" {
		return "root"
	}
	return path
}

func describe(command history.Command) string {
	if command == nil {
		return "nothing"
	}
	text := command.Kind()
	if sequenced, ok := command.(history.Sequenced); ok {
		text += fmt.Sprintf(" seq %d", sequenced.Seq())
	}
	for _, field := range command.Fields() {
		switch field.Value {
		case "", "0s", "false":
		default:
			text += " " + field.Name + "=" + quote(field.Value)
		}
	}
	return text
}

func quote(value string) string {
	const most = 200
	if value == "" {
		return `""`
	}
	if len(value) > most {
		return strings.ToValidUTF8(value[:most], "") + fmt.Sprintf("… (%d bytes)", len(value))
	}
	return value
}
