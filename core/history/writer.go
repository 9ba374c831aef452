package history

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// writer appends JSON to a buffer: the stored form is written by hand because each activation pays for it (see
// BenchmarkCodec; encoding/json takes four times as long). FuzzRecord holds it against encoding/json.
type writer struct {
	out   []byte
	comma bool
	away  func(Payload) (place string, away bool) // nil: all stay
	texts bool                                    // words of the author's may go away, too
}

func (w *writer) begin() { w.separate(); w.out = append(w.out, '{'); w.comma = false }
func (w *writer) end()   { w.out = append(w.out, '}'); w.comma = true }

func (w *writer) beginList() { w.separate(); w.out = append(w.out, '['); w.comma = false }
func (w *writer) endList()   { w.out = append(w.out, ']'); w.comma = true }

// separate writes the comma before a further member or element.
func (w *writer) separate() {
	if w.comma {
		w.out = append(w.out, ',')
	}
	w.comma = false
}

// name begins a member; its value follows.
func (w *writer) name(name string) {
	w.separate()
	w.out = append(w.out, '"')
	w.out = append(w.out, name...) // our own names need no escape
	w.out = append(w.out, '"', ':')
}

func (w *writer) text(name, value string) {
	w.name(name)
	w.element(value)
}

func (w *writer) textIf(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

// words writes a text that the author's code or a caller made: see [Encoder.Texts].
func (w *writer) words(name, value string) {
	if w.texts && value != "" {
		quoted := writer{}
		quoted.element(value)
		w.payloadIf(name, quoted.out)
		return
	}
	w.text(name, value)
}

func (w *writer) wordsIf(name, value string) {
	if value != "" {
		w.words(name, value)
	}
}

// element writes a string value by itself.
func (w *writer) element(value string) {
	w.separate()
	w.comma = true
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			escaped, err := json.Marshal(value)
			if err != nil {
				panic("a string always encodes: " + err.Error())
			}
			w.out = append(w.out, escaped...)
			return
		}
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, value...)
	w.out = append(w.out, '"')
}

func (w *writer) int(name string, value int64) {
	w.name(name)
	w.number(value)
}

func (w *writer) intIf(name string, value int64) {
	if value != 0 {
		w.int(name, value)
	}
}

func (w *writer) number(value int64) {
	w.separate()
	w.out = strconv.AppendInt(w.out, value, 10)
	w.comma = true
}

func (w *writer) flagIf(name string, value bool) {
	if value {
		w.name(name)
		w.out = append(w.out, "true"...)
		w.comma = true
	}
}

// durationIf writes a duration as Go writes it, as in "1m30s": no unit to guess.
func (w *writer) durationIf(name string, value time.Duration) {
	if value != 0 {
		w.text(name, value.String())
	}
}

// timeIf writes a time in UTC, RFC 3339 with up to nine digits after the second.
func (w *writer) timeIf(name string, value time.Time) {
	if value.IsZero() {
		return
	}
	w.name(name)
	w.out = append(w.out, '"')
	w.out = value.UTC().AppendFormat(w.out, time.RFC3339Nano)
	w.out = append(w.out, '"')
	w.comma = true
}

func (w *writer) payloadIf(name string, value Payload) {
	if len(value) == 0 {
		return
	}
	if w.away != nil {
		if place, away := w.away(value); away {
			w.text(name+string(elsewhere), place)
			return
		}
	}
	w.name(name)
	const follows = 1 << 10 // what comes after a long value must not have it copied again
	if len(value) > follows {
		w.out = slices.Grow(w.out, len(value)+follows)
	}
	w.out = append(w.out, value...)
	w.comma = true
}

func (w *writer) failureIf(value *Failure) {
	if value != nil {
		w.name("failure")
		value.write(w)
	}
}

func (w *writer) textsIf(name string, values []string) {
	if len(values) == 0 {
		return
	}
	w.name(name)
	w.beginList()
	for _, value := range values {
		w.element(value)
	}
	w.endList()
}
