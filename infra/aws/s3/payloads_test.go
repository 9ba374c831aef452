package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/s3"
)

var _ offload.Places = (*s3.Payloads)(nil)

func TestKeepAndFetch(t *testing.T) {
	b := newBucket()
	meter := &aws.Meter{}
	writer, reader := s3.New(s3.Config{Client: b, Bucket: "b", Meter: meter}), s3.New(s3.Config{Client: b, Bucket: "b"})
	for _, run := range []string{"r", "a b", "naïve?x=1&y", "50%", "50%25", strings.Repeat("ü", 100)} {
		place, err := writer.Keep(t.Context(), run, []byte(`"`+run+`"`))
		require.NoError(t, err)
		require.LessOrEqual(t, len(place), 1024, "the limit of S3 for keys")
		data, err := reader.Fetch(t.Context(), place)
		require.NoError(t, err)
		require.Equal(t, `"`+run+`"`, string(data))
		require.Equal(t, 1, meter.Total(run, "PutObject").Requests)
	}
	require.Len(t, b.keys(), 6, "each run has places of its own")
}

func TestKeepOnce(t *testing.T) {
	b := newBucket()
	p := s3.New(s3.Config{Client: b})
	first, err := p.Keep(t.Context(), "r", []byte("1"))
	require.NoError(t, err)
	again, err := p.Keep(t.Context(), "r", []byte("1"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, 1, b.count("put"))
	other, err := p.Keep(t.Context(), "r", []byte("2"))
	require.NoError(t, err)
	require.NotEqual(t, first, other)

	another := s3.New(s3.Config{Client: b})
	_, err = another.Fetch(t.Context(), first)
	require.NoError(t, err)
	_, err = another.Keep(t.Context(), "r", []byte("1"))
	require.NoError(t, err)
	require.Equal(t, 2, b.count("put"), "what was read is there")

	b.fails = func(string) error { return errors.New("SlowDown") }
	_, err = p.Keep(t.Context(), "r", []byte("3"))
	require.ErrorIs(t, err, port.ErrUnavailable)
	b.fails = nil
	_, err = p.Keep(t.Context(), "r", []byte("3"))
	require.NoError(t, err)
	require.Len(t, b.keys(), 3, "a failed write is not taken for done")
}

// TestKeepForgets: a run that was deleted by another process may have begun anew.
func TestKeepForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket()
		p := s3.New(s3.Config{Client: b})
		keep := func() {
			_, err := p.Keep(t.Context(), "r", []byte("1"))
			require.NoError(t, err)
		}
		keep()
		require.NoError(t, s3.New(s3.Config{Client: b}).Forget(t.Context(), "r"))
		<-time.After(61 * time.Minute)
		keep()
		require.Len(t, b.keys(), 1)
		for range 12 {
			<-time.After(5 * time.Minute)
			keep()
		}
		require.Equal(t, 3, b.count("put"), "asked often, it is written once an hour at most")
		require.NoError(t, p.Forget(t.Context(), "r"))
		keep()
		require.Len(t, b.keys(), 1)
	})
}

func TestKnownPlacesAreBounded(t *testing.T) {
	b := newBucket()
	p := s3.New(s3.Config{Client: b})
	for i := range 10_000 {
		_, err := p.Keep(t.Context(), "r", fmt.Append(nil, i))
		require.NoError(t, err)
	}
	_, err := p.Keep(t.Context(), "r", []byte("9999"))
	require.NoError(t, err)
	require.Equal(t, 10_000, b.count("put"), "what is young is known")
	_, err = p.Keep(t.Context(), "r", []byte("0"))
	require.NoError(t, err)
	require.Equal(t, 10_001, b.count("put"), "what is old is forgotten")
}

func TestFetchIsCached(t *testing.T) {
	b := newBucket()
	p := s3.New(s3.Config{Client: b, CacheBytes: 15_000})
	var places []string
	for i := range 3 {
		place, err := p.Keep(t.Context(), "r", bytes.Repeat(fmt.Append(nil, i), 6000))
		require.NoError(t, err)
		places = append(places, place)
	}
	fetch := func(i int) {
		_, err := p.Fetch(t.Context(), places[i])
		require.NoError(t, err)
	}
	for _, i := range []int{0, 1, 0, 0, 1} {
		fetch(i)
	}
	require.Equal(t, 2, b.count("get"))
	fetch(2) // takes the room of 0
	fetch(1)
	require.Equal(t, 3, b.count("get"))
	fetch(0)
	require.Equal(t, 4, b.count("get"))

	none := s3.New(s3.Config{Client: b, CacheBytes: -1})
	for range 2 {
		_, err := none.Fetch(t.Context(), places[0])
		require.NoError(t, err)
	}
	require.Equal(t, 6, b.count("get"))
}

// TestFetchTogether: many that want one place wait for one download, and if the one who does it gives up, another does it.
func TestFetchTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket()
		p := s3.New(s3.Config{Client: b})
		place, err := p.Keep(t.Context(), "r", []byte("1"))
		require.NoError(t, err)
		first, giveUp := context.WithCancel(t.Context())
		answer := make(chan error)
		b.fails = func(string) error { return <-answer }
		var busy sync.WaitGroup
		busy.Go(func() {
			_, err := p.Fetch(first, place)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, port.ErrUnavailable)
		})
		synctest.Wait()
		busy.Go(func() {
			impatient, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := p.Fetch(impatient, place)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		for range 10 {
			busy.Go(func() {
				data, err := p.Fetch(t.Context(), place)
				require.NoError(t, err)
				require.Equal(t, "1", string(data))
			})
		}
		<-time.After(2 * time.Second)
		require.Equal(t, 1, b.count("get"))
		giveUp()
		answer <- context.Canceled
		synctest.Wait()
		require.Equal(t, 2, b.count("get"))
		answer <- nil
		busy.Wait()
		require.Equal(t, 2, b.count("get"))
	})
}

func TestFetchSaysWhatIsWrong(t *testing.T) {
	b := newBucket()
	p := s3.New(s3.Config{Client: b, Bucket: "payloads"})
	place, err := p.Keep(t.Context(), "r", []byte("content"))
	require.NoError(t, err)

	b.objects[place] = []byte("another")
	_, err = p.Fetch(t.Context(), place)
	require.ErrorIs(t, err, history.ErrUnreadable)
	require.ErrorContains(t, err, "payload "+place+" in bucket payloads is damaged")

	delete(b.objects, place)
	_, err = p.Fetch(t.Context(), place)
	require.ErrorIs(t, err, history.ErrUnreadable)
	require.NotErrorIs(t, err, port.ErrUnavailable)
	require.ErrorContains(t, err, "payload "+place+" is not in bucket payloads")

	b.fails = func(string) error { return errors.New("api error SlowDown") }
	_, err = p.Fetch(t.Context(), place)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.NotErrorIs(t, err, history.ErrUnreadable)
	require.ErrorContains(t, err, "SlowDown")

	gets := b.count("get")
	for _, odd := range []string{"", "r", "r/", "r/abc", "/" + strings.Repeat("0", 64) + "0", "a b/" + strings.Repeat("0", 64), "r/" + strings.Repeat("AB", 32)} {
		_, err = p.Fetch(t.Context(), odd)
		require.ErrorIs(t, err, history.ErrUnreadable, "%q", odd)
	}
	require.Equal(t, gets, b.count("get"))
}

func TestForget(t *testing.T) {
	b := newBucket()
	p := s3.New(s3.Config{Client: b, Bucket: "payloads"})
	for i := range 2*pageSize + 1 {
		_, err := p.Keep(t.Context(), "r", fmt.Append(nil, i))
		require.NoError(t, err)
	}
	other, err := p.Keep(t.Context(), "r2", []byte("1"))
	require.NoError(t, err)
	mine, err := p.Keep(t.Context(), "r", []byte("1"))
	require.NoError(t, err)
	_, err = p.Fetch(t.Context(), mine)
	require.NoError(t, err)

	b.stuck[mine] = true
	err = p.Forget(t.Context(), "r")
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.ErrorContains(t, err, mine)
	delete(b.stuck, mine)
	require.NoError(t, p.Forget(t.Context(), "r"))
	require.Equal(t, []string{other}, b.keys())
	_, err = p.Fetch(t.Context(), mine)
	require.ErrorIs(t, err, history.ErrUnreadable, "no cache answers for what was deleted")
	require.NoError(t, p.Forget(t.Context(), "r"), "nothing is left to do")
	b.fails = func(string) error { return errors.New("out of reach") }
	require.ErrorIs(t, p.Forget(t.Context(), "r2"), port.ErrUnavailable)
}
