package scheduler_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// events reads an activation's events, one a line: a verb, words, and name=value pairs. Values have no spaces, or stand in
// double quotes.
func (tr *transcript) events(input string) (events []history.Event) {
	for _, line := range lines(input) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		read, ok := readers[verb]
		require.True(tr.t, ok, "unknown event %q", verb)
		events = append(events, read(tr, tr.words(rest)))
	}
	return events
}

// words are what follows an event's verb.
type words struct {
	tr    *transcript
	plain []string
	named map[string]string
}

func (tr *transcript) words(text string) words {
	w := words{tr: tr, named: map[string]string{}}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end, quoted := 0, false
		for ; end < len(text) && (quoted || text[end] != ' '); end++ {
			if text[end] == '"' {
				quoted = !quoted
			}
		}
		word := text[:end]
		text = text[end:]
		if name, value, found := strings.Cut(word, "="); found {
			w.named[name] = value
		} else {
			w.plain = append(w.plain, word)
		}
	}
	return w
}

func (w words) text(name string) string { return strings.Trim(w.named[name], `"`) }

func (w words) payload(name string) history.Payload {
	if w.named[name] == "" {
		return nil
	}
	return history.Payload(w.named[name])
}

func (w words) number(name string) int64 {
	if w.named[name] == "" {
		return 0
	}
	n, err := strconv.ParseInt(w.named[name], 10, 64)
	require.NoError(w.tr.t, err)
	return n
}

// id is given, or made of the place of the event in the run.
func (w words) id(kind string) string {
	if id := w.text("id"); id != "" {
		return id
	}
	return fmt.Sprintf("%s-%d", kind, len(w.tr.log)+1)
}

func (w words) failure() *history.Failure {
	if w.named["failure"] == "" {
		return nil
	}
	kind := history.FailureKind(w.text("kind"))
	if kind == "" {
		kind = history.Application
	}
	return &history.Failure{FailureKind: kind, Type: w.text("type"), Message: w.text("failure"), Details: w.payload("details")}
}

var readers = map[string]func(*transcript, words) history.Event{
	"started": func(tr *transcript, w words) history.Event {
		seed := uint64(w.number("seed"))
		started := history.NewStarted(tr.id.Generation, tr.workflow, w.payload("input"), seed)
		if w.named["behavior"] != "" {
			started.Behavior = int(w.number("behavior"))
		}
		if base := w.number("base"); base > 0 {
			started.Base = &history.Base{Generation: tr.id.Generation - 1, Record: int(base)}
		}
		if parent := w.text("parent"); parent != "" {
			started.Parent = &history.Parent{Run: parent, Generation: 1, Seq: 7}
		}
		return started
	},
	"resolved": func(_ *transcript, w words) history.Event {
		return &history.ActivityResolved{Seq: w.number("seq"), Result: w.payload("result"), Failure: w.failure()}
	},
	"child": func(_ *transcript, w words) history.Event {
		return &history.ChildResolved{Seq: w.number("seq"), Result: w.payload("result"), Failure: w.failure()}
	},
	"fired": func(_ *transcript, w words) history.Event { return &history.TimerFired{Seq: w.number("seq")} },
	"signal": func(_ *transcript, w words) history.Event {
		return history.NewSignal(w.id("signal"), w.plain[0], w.payload("input"))
	},
	"update": func(_ *transcript, w words) history.Event {
		update := history.NewUpdate(w.id("update"), w.plain[0], w.payload("input"))
		update.Accepted = w.text("accepted") == "true"
		return update
	},
	"cancel": func(_ *transcript, w words) history.Event {
		return history.NewCancel(w.id("cancel"), w.text("reason"))
	},
	"terminate": func(_ *transcript, w words) history.Event {
		return history.NewTerminate(w.id("terminate"), w.text("reason"))
	},
	"reset": func(_ *transcript, w words) history.Event {
		return history.NewReset(w.id("reset"), 1, int(w.number("record")), w.text("reason"))
	},
}
