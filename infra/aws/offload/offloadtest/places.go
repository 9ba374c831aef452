// Package offloadtest has the places of tests: in memory.
package offloadtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/reprise-run/reprise/core/history"
)

// Places implements offload.Places in memory. It is safe for concurrent use.
type Places struct {
	mu   sync.Mutex
	kept map[string][]byte
	// Fails, if it is not nil, is asked before each call; its error is the call's.
	Fails func() error
	// Puts and Gets count what reached the places.
	Puts, Gets int
}

// New has nothing.
func New() *Places { return &Places{kept: map[string][]byte{}} }

func (p *Places) fail() error {
	if p.Fails != nil {
		return p.Fails()
	}
	return nil
}

// Keep implements offload.Places.
func (p *Places) Keep(_ context.Context, run string, data []byte) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fail(); err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	place := run + "/" + hex.EncodeToString(sum[:])
	if _, there := p.kept[place]; !there {
		p.kept[place] = append([]byte(nil), data...)
		p.Puts++
	}
	return place, nil
}

// Renew implements offload.Places.
func (p *Places) Renew(ctx context.Context, run string, data []byte) error {
	_, err := p.Keep(ctx, run, data)
	return err
}

// Fetch implements offload.Places.
func (p *Places) Fetch(_ context.Context, place string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fail(); err != nil {
		return nil, err
	}
	data, there := p.kept[place]
	if !there {
		return nil, fmt.Errorf("%w: nothing is kept at %q", history.ErrUnreadable, place)
	}
	p.Gets++
	return data, nil
}

// Forget implements offload.Places.
func (p *Places) Forget(_ context.Context, run string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.kept, func(place string, _ []byte) bool { return strings.HasPrefix(place, run+"/") })
	return p.fail()
}

// Len is how many places there are.
func (p *Places) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.kept)
}

// Count is how often a text is in what is kept.
func (p *Places) Count(text string) (found int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, data := range p.kept {
		found += bytes.Count(data, []byte(text))
	}
	return found
}
