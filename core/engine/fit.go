package engine

import (
	"sync"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Values that callers send are decoded before they are accepted, as the code that gets them will do,
// where their type is registered.

// fitting keeps the memory for that small.
type fitting struct{ large sync.Mutex }

// largeToFit is the length in bytes from which values are decoded one at a time.
const largeToFit = 1 << 20

func (f *fitting) check(what, name string, value history.Payload, fits func(string, history.Payload) error) error {
	if len(value) >= largeToFit {
		f.large.Lock()
		defer f.large.Unlock()
	}
	if err := fits(name, value); err != nil {
		return port.Errorf(port.Invalid, "the %s %q has another type: %v", what, name, err)
	}
	return nil
}
