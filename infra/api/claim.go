package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// What bodies and answers hold in memory, for each of their bytes. Live runs share the budget: see
// core/memory.
const (
	// copiesOfBody: the body, the run's summary and its start as they are stored, and the buffers
	// of the database.
	copiesOfBody = 4
	// copiesOfAnswer: the values as they are stored, as they were decoded, and the answer's text,
	// whose buffer grows.
	copiesOfAnswer = 4
	// copiesOfValue: the value as it is stored, and as it was decoded.
	copiesOfValue = 2
	// patienceForValues is how many times as long a request for a long value waits for memory.
	patienceForValues = 6
)

// claim has the call hold so many bytes of memory. A call that already holds some never waits for
// more: two such calls could wait for each other.
func (c *call) claim(bytes int64) error {
	more := bytes - c.claimed
	if more <= 0 {
		return nil
	}
	if err := c.fits(bytes); err != nil {
		return err
	}
	if !c.config.Memory.TryTake(more) {
		return c.crowded(bytes)
	}
	c.claimed = bytes
	return nil
}

// awaitRoom claims bytes in the place of those that the call holds, and waits so long for them.
func (c *call) awaitRoom(bytes int64, within time.Duration) error {
	c.release()
	ctx, cancel := context.WithTimeout(c.r.Context(), within)
	defer cancel()
	taken, err := c.config.Memory.Take(ctx, bytes)
	if errors.Is(err, context.DeadlineExceeded) {
		return c.crowded(bytes)
	}
	c.claimed = taken
	return err
}

// awaitRoomToRead is awaitRoom for reading what is stored: half of all at most, so that what was
// accepted can be read.
func (c *call) awaitRoomToRead(bytes int64, within time.Duration) error {
	return c.awaitRoom(min(bytes, c.config.Memory.Total()/2), within)
}

// fits refuses what would find no room in an empty server either.
func (c *call) fits(bytes int64) error {
	total := c.config.Memory.Total()
	if bytes <= total {
		return nil
	}
	return &port.Error{Code: port.TooLarge,
		Message: fmt.Sprintf("it needs about %d bytes of memory, and this server may use %d for "+
			"its runs and "+
			"requests: give it more memory (reprise dev --memory, or the memory of the Lambda "+
			"function), or store the value elsewhere and pass where it is", bytes, total)}
}

// awaitRoomForLog claims what reading a part of a log needs. Where the next part is short, another
// one may follow it.
func (c *call) awaitRoomForLog(run string, generation, after int) error {
	size, err := c.engine.SizeOfRecords(c.r.Context(), run, generation, after)
	if err == nil && size <= pieceOfLog {
		size, err = c.engine.Size(c.r.Context(), run)
	}
	if err != nil || size <= freeBytes {
		return err
	}
	return c.awaitRoomToRead(copiesOfAnswer*min(size, longestBody), c.config.Limits.RoomWithin)
}

func (c *call) crowded(bytes int64) error {
	budget := c.config.Memory
	return busy("the runs and requests that are worked on hold %d of %d bytes, and this one needs about %d more: try again", budget.Used(), budget.Total(), bytes)
}

// release gives back what the call holds.
func (c *call) release() {
	c.config.Memory.Give(c.claimed)
	c.claimed = 0
}

// refuseBody has the connection closed after the answer: the rest of the body is not read.
func (c *call) refuseBody(err error) error {
	c.w.Header().Set("Connection", "close")
	return err
}

// holdAnswer claims the memory that an answer of so many bytes needs while it is written. Short
// ones are not worth counting.
func (c *call) holdAnswer(bytes int) error {
	if bytes <= freeBytes {
		return nil
	}
	return c.claim(copiesOfAnswer * int64(bytes))
}
