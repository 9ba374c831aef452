package dynamo

import "sync"

// mostNames is how many names are remembered: then all are forgotten, which costs a write each.
const mostNames = 10_000

// names are those of what this process has put into the table, so that it need not do so again. They
// are safe for concurrent use.
type names struct {
	mu    sync.Mutex
	known map[string]bool
}

func (n *names) have(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[name]
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= mostNames {
		n.known = map[string]bool{}
	}
	n.known[name] = true
}

func (n *names) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, name)
}
