//go:build dynamodb

package dynamo_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/reprise-run/reprise/core/port/porttest"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// TestSameAsMemory does the same random operations on this store and on the one in memory; with a DynamoDB that does what it
// is told, and with one that fails before or after it has done so, and does half of a batch.
func TestSameAsMemory(t *testing.T) {
	for name, faults := range map[string]bool{"sound": false, "with faults": true} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			w := &wire{Client: client}
			if faults {
				f := &faulty{random: rand.New(rand.NewPCG(seed, 2))}
				w.around, w.halve = f.around, f.chance
			}
			s, config := open(t, dynamo.Config{Client: w})
			m := memory.New()
			want := porttest.Stores{Runs: m, Directory: m, Due: m, Tasks: m,
				DeleteClosed: m.DeleteClosed}
			porttest.TestSame(t, want, hurried(s, config, &clock{now: began.AddDate(1, 0, 0)}),
				porttest.Likeness{Seed: seed, Steps: 700, Runs: 8, Large: true, Faults: faults})
		})
	}
}

// hurried are stores that try again at once, and go by another clock.
func hurried(s *dynamo.Store, config dynamo.Config, c *clock) porttest.Stores {
	s.Hurry()
	s.At(c.read)
	opened := stores(s, config)
	opened.Reopen = func(t *testing.T) porttest.Stores {
		t.Helper()
		return hurried(dynamo.New(config), config, c)
	}
	return opened
}

// clock is an hour later each time it is read: what an interrupted deletion left can be taken over at once.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Hour)
	return c.now
}

// faulty fails one write in eight: before it is done, after it was done, or by a reason that passes. Of queries, a page of a
// listing needs dozens: it fails fewer.
type faulty struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (f *faulty) draw(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

func (f *faulty) chance() bool { return f.draw(4) == 0 }

func (f *faulty) around(operation string, do func() error) error {
	share := 24
	if operation == "Query" {
		share = 300
	}
	switch f.draw(share) {
	case 0:
		return &types.ProvisionedThroughputExceededException{Message: aws.String("too much")}
	case 1:
		if operation == "TransactWriteItems" {
			return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("None")}, {Code: aws.String("TransactionConflict")}}}
		}
		return &types.TransactionConflictException{}
	case 2:
		if err := do(); err != nil {
			return err
		}
		return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: operation, Err: errors.New("connection reset by peer")}
	}
	return do()
}
