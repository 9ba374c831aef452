package port

import (
	"strconv"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// Item is something that happened to a run, in its inbox.
type Item struct {
	Key   string // identity: see history.Event.Key; that of mail says, too, which run it is for
	Event history.Event
	// Stamp orders mail: nanoseconds since 1970, later than the stamps of earlier mail of the same
	// sender.
	Stamp int64
	// Durable: it cannot be brought back from the log alone. A store that dies with its queues
	// (Ports.Together) must keep durable items, and may keep the others in memory.
	Durable bool
}

// Name is what records name an item by.
func (i *Item) Name() string {
	if mail, ok := i.Event.(history.Mail); ok {
		return mail.Key(0)
	}
	return i.Key
}

// Of is the generation that the item belongs to: its key says it. Mail belongs to the run: 0.
func (i *Item) Of() int {
	kind, rest, _ := strings.Cut(i.Key, "#")
	if kind == "mail" {
		return 0
	}
	digits, _, _ := strings.Cut(rest, "#")
	generation, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return generation
}
