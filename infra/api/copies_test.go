package api

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// reading is a value that can be read, and how often it was.
type reading struct {
	text  string
	times int
	begun chan struct{} // nil: it takes no time
}

func (r *reading) read() ([]byte, uint32, error) {
	r.times++
	text := []byte(r.text)
	if r.begun != nil {
		<-r.begun
	}
	return text, crc32.ChecksumIEEE(text), nil
}

// whole reads a copy to its end.
func (v *copied) whole(t *testing.T) string {
	t.Helper()
	var whole, part []byte
	var err error
	for number := 0; number*scratchPart < v.size; number++ {
		part, err = v.part(number, part)
		require.NoError(t, err)
		whole = append(whole, part...)
	}
	return string(whole)
}

func TestCopiesAreFresh(t *testing.T) {
	c, v := newCopies(t.TempDir()), &reading{text: "one"}
	first, leave, err := c.take(t.Context(), "state", v.read)
	require.NoError(t, err)
	same, leaveSame, err := c.take(t.Context(), "state", v.read)
	require.NoError(t, err)
	require.Equal(t, 2, v.times, "a value is read after it was asked for")
	require.Same(t, first, same, "a value that has not changed lies on disk once")
	v.text = "two"
	second, leaveSecond, err := c.take(t.Context(), "state", v.read)
	require.NoError(t, err)
	require.Equal(t, "two", second.whole(t))
	require.Equal(t, "one", first.whole(t), "an answer that has begun goes on with what it was")
	leave()
	leaveSame()
	_, err = first.part(0, nil)
	require.ErrorIs(t, err, os.ErrClosed)
	leaveSecond()
	_, err = second.part(0, nil)
	require.ErrorIs(t, err, os.ErrClosed)
	require.Empty(t, c.wanted)
}

// TestCopiesAreShared: all callers that come while a value is read share the one reading after that.
func TestCopiesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, v := newCopies(t.TempDir()), &reading{text: string(bytes.Repeat([]byte("0123456789abcdef"), 5000)), begun: make(chan struct{})}
		var all sync.WaitGroup
		take := func() {
			value, leave, err := c.take(t.Context(), "input", v.read)
			if err == nil {
				defer leave()
				err = errors.Join(err, context.Cause(t.Context()))
			}
			require.NoError(t, err)
			require.True(t, value.whole(t) == v.text)
		}
		all.Go(take)
		synctest.Wait() // it reads
		for range 100 {
			all.Go(take)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := c.take(short, "input", v.read)
		require.ErrorIs(t, err, context.DeadlineExceeded, "a caller waits no longer than it likes")
		close(v.begun)
		all.Wait()
		require.Equal(t, 2, v.times)
		require.Empty(t, c.wanted)
	})
}

func TestCopiesThatCannotBeMade(t *testing.T) {
	c, v := newCopies(t.TempDir()+"/none"), &reading{text: "one"}
	_, _, err := c.take(t.Context(), "state", v.read)
	require.ErrorContains(t, err, "did not take the copy")
	refused := errors.New("refused")
	_, _, err = c.take(t.Context(), "state", func() ([]byte, uint32, error) { return nil, 0, refused })
	require.ErrorIs(t, err, refused)
	require.Empty(t, c.wanted)
}

// TestScratch: what lies on disk is encrypted, and a part that was changed there is not given.
func TestScratch(t *testing.T) {
	text := bytes.Repeat([]byte("secret"), 10_000)
	s, err := newScratch(t.TempDir(), text)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.close()) }()
	stored := make([]byte, len(text))
	_, err = s.file.ReadAt(stored, 0)
	require.NoError(t, err)
	require.NotContains(t, string(stored), "secret")
	_, err = s.file.WriteAt([]byte("?"), scratchPart+100)
	require.NoError(t, err)
	_, err = s.part(0, nil)
	require.NoError(t, err)
	_, err = s.part(1, nil)
	require.Error(t, err)
}
