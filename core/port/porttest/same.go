package porttest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

// Likeness says what [TestSame] does to two stores, and what it compares.
type Likeness struct {
	// Capabilities of the store under test. The reference refuses, and forgets nothing.
	Capabilities
	// Seed decides on the operations. Zero: another one each time.
	Seed uint64
	// Steps is how many operations there are; Runs is how many runs they are done to.
	Steps, Runs int
	// Large: some payloads have 40 KB, and some records 600 KB. The others are short.
	Large bool
	// Faults: the store under test may be unavailable, before or after it has done as it was told. It is told again, until it
	// answers; but after a thousand times in a row that is a failure.
	Faults bool
	// Pages: each page has the same as the reference's. Without it, only what all pages say together is compared.
	Pages bool
	// Ties: among runs that started at the same time, the order is the reference's. Without it, no two start at the same time.
	Ties bool
}

// TestSame does the same random operations on the store under test and on a reference, both empty, and compares every answer.
// Now and then got is opened again, if it has Reopen; and closed runs are deleted, if both have DeleteClosed. It logs the seed.
func TestSame(t *testing.T, want, got Stores, likeness Likeness) {
	if likeness.Seed == 0 {
		likeness.Seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", likeness.Seed)
	d := &double{Likeness: likeness, t: t, random: rand.New(rand.NewPCG(likeness.Seed, 1)), want: &want, got: &got}
	for range d.Steps {
		d.step()
	}
	d.reopen()
	d.compareAll()
}

// double drives two stores.
type double struct {
	Likeness
	t         *testing.T
	random    *rand.Rand
	want, got *Stores
	starts    int
}

// both does one thing to both stores, and compares what they answer. What had to be done again may have met what it had itself
// written before its answer was lost. If the reference disagrees with what there is then, a later look tells.
func (d *double) both(name string, do func(s *Stores) (string, error)) {
	d.t.Helper()
	var got string
	again, gotErr := d.insist(name, func() (err error) {
		got, err = do(d.got)
		return err
	})
	want, wantErr := do(d.want)
	if again {
		if wantErr == nil && errors.Is(gotErr, port.ErrTaken) {
			gotErr = nil
		}
		if name == "file" && got == strings.Replace(want, "false", "true", 1) || name == "delete closed" {
			got = want
		}
	}
	require.Equal(d.t, kind(wantErr), kind(gotErr), "%s: %v, %v", name, wantErr, gotErr)
	require.Equal(d.t, brief(want), brief(got), name)
}

// insist does one thing until there is an answer, and says whether it took more than once.
func (d *double) insist(name string, do func() error) (again bool, err error) {
	d.t.Helper()
	for tries := 1; ; tries++ {
		if err = do(); !d.Faults || !errors.Is(err, port.ErrUnavailable) {
			return tries > 1, err
		}
		require.Less(d.t, tries, 1000, "%s: %v", name, err)
	}
}

// kind is what callers tell an error by.
func kind(err error) error {
	for _, known := range []error{port.ErrTaken, port.ErrNoRun, port.ErrUnavailable} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

// brief is a long answer's beginning and hash: megabytes make no message.
func brief(answer string) string {
	if len(answer) < 10_000 {
		return answer
	}
	return fmt.Sprintf("%s… %x", answer[:2000], sha256.Sum256([]byte(answer)))
}

// reopen opens the store under test again. What it forgets is deleted on both sides first.
func (d *double) reopen() {
	d.t.Helper()
	if d.got.Reopen == nil {
		return
	}
	if d.Forgets {
		for i := range d.Runs {
			d.deleteVolatile(nameOf(i))
		}
	}
	*d.got = d.got.Reopen(d.t)
}

func (d *double) deleteVolatile(run string) {
	d.t.Helper()
	view, err := d.want.Runs.Look(d.t.Context(), run, port.Position{})
	if errors.Is(err, port.ErrNoRun) {
		return
	}
	require.NoError(d.t, err)
	var keys []string
	for _, item := range view.Inbox {
		if !item.Durable {
			keys = append(keys, item.Key)
		}
	}
	d.delete(run, keys)
}

func (d *double) compareAll() {
	d.t.Helper()
	for i := range d.Runs {
		d.look(nameOf(i), port.Position{})
	}
	d.list(port.ListQuery{})
	d.unfinished()
}

func nameOf(i int) string { return fmt.Sprint("r", i) }

// there says whether there is a run.
func (d *double) there(run string) bool {
	_, err := d.want.Runs.Summary(d.t.Context(), run)
	return err == nil
}

func (d *double) run() string       { return nameOf(d.random.IntN(d.Runs)) }
func (d *double) chance(n int) bool { return d.random.IntN(n) == 0 }
func (d *double) time() time.Time   { return epoch.Add(time.Duration(d.random.IntN(200)) * time.Second) }

// started is when a run starts.
func (d *double) started() time.Time {
	if d.Ties {
		return d.time()
	}
	d.starts++
	return d.time().Add(time.Duration(d.starts) * time.Nanosecond)
}
