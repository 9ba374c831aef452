package workflow

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"

	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Now is the run's time: that of the activation, which stands still while the code runs, and is the same on replay.
func Now(ctx Context) time.Time { return ctx.enter("Now").Run().Now() }

// Random is the run's own source of random numbers: seeded by its log, the same on replay.
func Random(ctx Context) *rand.Rand { return rand.New(source{ctx.enter("Random")}) } //nolint:gosec // must repeat, need not surprise

type source struct{ unit *scheduler.Unit }

func (s source) Uint64() uint64 {
	s.unit.Enter("Random")
	return s.unit.Random()
}

// UUID gives a version 4 UUID, the same on replay.
func UUID(ctx Context) string {
	u := ctx.enter("UUID")
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], u.Random())
	binary.BigEndian.PutUint64(id[8:], u.Random())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
