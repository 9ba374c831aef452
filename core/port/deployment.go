package port

import "time"

// Deployment is the code that blocked runs are tried again with.
type Deployment struct {
	// Version is its name; "" if none is known: then no run is tried again.
	Version string
	// Learned: functions/activate noted Version when it began, since no build and no parameter
	// names it. Other functions that block runs do not know it.
	Learned bool
	// Since is when functions/activate first noted it.
	Since time.Time
}

// overlap is how long functions of an older deployment may block runs after a newer one has begun:
// an invocation's longest time.
const overlap = 15 * time.Minute

// Retries says whether to try a run again that is blocked.
func (d Deployment) Retries(block *Block) bool {
	if d.Version == "" || block.Version == d.Version {
		return false
	}
	return !d.Learned || block.Since.Before(d.Since.Add(overlap))
}
