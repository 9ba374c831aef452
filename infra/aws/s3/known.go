package s3

import (
	"maps"
	"strings"
	"sync"
	"time"
)

const (
	mostKnown = 4096
	knownFor  = 20 * time.Minute
)

// known is the places that this process has seen written or read, so that it need not write them again.
//
// It forgets: for bounded memory, and because another process may have deleted a run meanwhile, and a new one have begun under
// the same id. No run is deleted so soon after its last payload was kept. Places are remembered in two halves; when the
// young one is full or 20 minutes old it becomes the old one, which is dropped: no place is known for more than an hour.
type known struct {
	mu         sync.Mutex
	young, old map[string]struct{}
	since      time.Time // when the young half was begun
}

func (k *known) has(place string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn()
	_, young := k.young[place]
	_, old := k.old[place]
	return young || old
}

func (k *known) add(place string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn()
	k.young[place] = struct{}{}
}

// turn turns the halves over, if it is time. The lock is held.
func (k *known) turn() {
	now := time.Now().Round(0) // by the wall clock: the other one may stand still while the process is frozen
	age := now.Sub(k.since)
	if k.young != nil && len(k.young) < mostKnown && age < knownFor {
		return
	}
	if age >= 2*knownFor { // nobody asked for so long
		k.young = nil
	}
	k.young, k.old, k.since = map[string]struct{}{}, k.young, now
}

// forget forgets all places that begin so.
func (k *known) forget(prefix string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := func(place string, _ struct{}) bool { return strings.HasPrefix(place, prefix) }
	maps.DeleteFunc(k.young, of)
	maps.DeleteFunc(k.old, of)
}
