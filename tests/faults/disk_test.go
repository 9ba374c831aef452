//go:build faults

package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/tests/process"
)

// disk is a small file system in memory, in a mount namespace of its own: for it, nobody needs to be root.
type disk struct {
	folder string // as processes in the namespace see it
	holder int    // the process that keeps it
}

func newDisk(t *testing.T, bytes int) *disk {
	t.Helper()
	d := &disk{folder: t.TempDir()}
	script := fmt.Sprintf("mount -t tmpfs -o size=%d,mode=700 tmpfs %s && echo mounted && read stays", bytes, d.folder)
	holder := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script) //nolint:noctx // it ends with its input
	stays, err := holder.StdinPipe()
	require.NoError(t, err)
	says, err := holder.StdoutPipe()
	require.NoError(t, err)
	if err := holder.Start(); errors.Is(err, exec.ErrNotFound) {
		t.Skip("a file system of its own needs unshare, of util-linux")
	}
	t.Cleanup(func() {
		_ = stays.Close()
		_ = holder.Wait()
	})
	if line, err := bufio.NewReader(says).ReadString('\n'); err != nil || line != "mounted\n" {
		t.Skipf("this user may not mount a file system in a namespace of its own (%q, %v)", line, err)
	}
	d.holder = holder.Process.Pid
	return d
}

// enter is what has a command run where the disk is.
func (d *disk) enter() []string {
	return []string{"nsenter", "--preserve-credentials", "--user", "--mount", "--target", strconv.Itoa(d.holder), "--"}
}

// outside is a file of the disk as this process sees it.
func (d *disk) outside(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", d.holder), d.folder, name)
}

// fill leaves so many bytes free, as far as others do not free more.
func (d *disk) fill(t *testing.T, left int) {
	t.Helper()
	ballast, err := os.OpenFile(d.outside("ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	defer ballast.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = ballast.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	info, err := ballast.Stat()
	require.NoError(t, err)
	require.NoError(t, ballast.Truncate(max(0, info.Size()-int64(left))))
}

func (d *disk) empty(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Remove(d.outside("ballast")))
}

const full = "the disk is full, nothing was stored: free some space, and it goes on by itself"

// A server whose disk is full refuses, says why, loses nothing that it accepted, and goes on by itself when there is room.
func TestDiskIsFull(t *testing.T) {
	random, ctx := seeded(t), t.Context()
	times := number(t, "FAULTS_FULL", 3)
	d := newDisk(t, 200<<20)
	s := newServer(t, d.enter()...)
	s.Data = d.folder
	c := s.Client()
	s.Start()
	s.Await(ctx, c)
	sent := send(ctx, c, "sent", 8)
	refused := 0
	for i := range times {
		s.Live(upTo(random, time.Second))
		d.fill(t, random.IntN(64<<10))
		before := sent.count(full)
		refuses(ctx, t, s, c, sent, before)
		if i%3 == 2 { // killed while it is full, it starts if that takes no room, else says why not
			s.Kill()
			d.fill(t, 0)
			up, said := s.Comes(ctx, c)
			require.True(t, up || strings.Contains(said, full), said)
			if d.empty(t); !up {
				refused++
				s.Start()
				s.Await(ctx, c)
			}
			continue
		}
		d.empty(t)
		done, cancel := context.WithTimeout(ctx, settling)
		for { // nobody restarts it
			if err := begin(done, c, collected.Name(), fmt.Sprint("after-", i), 0); err == nil {
				break
			}
			require.NoError(t, wait(done, 50*time.Millisecond))
		}
		cancel()
		ended(ctx, t, c, fmt.Sprint("after-", i))
	}
	s.Live(time.Second)
	sent.end()
	promises := sent.kept(ctx, t)
	s.Stop()
	t.Logf("%d times full, %d starts refused; %d calls refused for it, %d calls accepted and kept, of %d runs", times, refused, sent.count(full), promises, len(sent.accepted))
}

// refuses waits until calls are refused for the disk, and sees that reading goes on.
func refuses(ctx context.Context, t *testing.T, s *process.Server, c *client.Client, sent *senders, before int) {
	t.Helper()
	limited, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for sent.count(full) < before+20 {
		require.NoError(t, wait(limited, 10*time.Millisecond), "nothing is refused\n%s", s.Last)
	}
	page, err := c.List(ctx, port.ListQuery{Limit: 10})
	require.NoError(t, err, "reading needs no room")
	require.NotEmpty(t, page.Runs)
}

// count is how many calls were told something.
func (s *senders) count(told string) (calls int) {
	s.note(func() {
		for text, n := range s.refused {
			if strings.Contains(text, told) {
				calls += n
			}
		}
	})
	return calls
}
