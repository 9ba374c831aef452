package sqlite

import (
	"maps"
	"sync"
)

// overlay holds what rides along and is not yet on disk, so that readers see it: a value, or the
// zero value for a deletion.
type overlay[K comparable, V any] struct {
	mu     sync.Mutex
	latest map[K]pending[V]
	count  int
}

type pending[V any] struct {
	value   V
	version int
}

// set makes a value the latest of a key. The version is for done.
func (o *overlay[K, V]) set(key K, value V) (version int) {
	return o.change(key, func(V, bool) V { return value })
}

// change is set for a value that depends on the one that is on its way already, if there is one.
func (o *overlay[K, V]) change(key K, change func(before V, there bool) V) (version int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.latest == nil {
		o.latest = map[K]pending[V]{}
	}
	before, there := o.latest[key]
	o.count++
	o.latest[key] = pending[V]{change(before.value, there), o.count}
	return o.count
}

func (o *overlay[K, V]) get(key K) (pending[V], bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, there := o.latest[key]
	return p, there
}

// done forgets a key, unless there is a later version.
func (o *overlay[K, V]) done(key K, version int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.latest[key].version == version {
		delete(o.latest, key)
	}
}

// all gives what is on its way.
func (o *overlay[K, V]) all() map[K]pending[V] {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.latest)
}
