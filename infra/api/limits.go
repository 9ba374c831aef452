package api

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// Limits bound what callers can make a server keep at a time. What is beyond is refused with the code unavailable, and may be
// tried again. Zero values stand for the defaults.
type Limits struct {
	// Requests that are worked on, those that wait included. Zero: 3,072.
	Requests int64
	// Waits are requests that wait for something to happen. What Requests has beyond it is always left to others. Zero: 2,048.
	Waits int64
	// Connections that are open, those without a request included; further ones are closed. Zero: 4,096.
	Connections int64
	// RoomWithin is how long a request waits for memory that others hold. Zero: 5 s. A request for a
	// long value waits six times as long, since it holds nothing meanwhile.
	RoomWithin time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.RoomWithin == 0 {
		l.RoomWithin = 5 * time.Second
	}
	for _, one := range []struct {
		limit *int64
		usual int64
	}{{&l.Requests, 3072}, {&l.Waits, 2048}, {&l.Connections, 4096}} {
		if *one.limit == 0 {
			*one.limit = one.usual
		}
	}
	return l
}

// room is what is left of a limit.
type room struct {
	most  int64
	taken atomic.Int64
}

// take takes n of it, or nothing.
func (r *room) take(n int64) bool {
	if r.taken.Add(n) > r.most {
		r.taken.Add(-n)
		return false
	}
	return true
}

func (r *room) give(n int64) { r.taken.Add(-n) }

// rooms are those of one handler.
type rooms struct{ requests, waits, connections room }

func (r *rooms) limit(l Limits) {
	r.requests.most, r.waits.most, r.connections.most = l.Requests, l.Waits, l.Connections
}

func busy(format string, args ...any) error {
	return &port.Error{Code: port.Unavailable, Message: fmt.Sprintf(format, args...)}
}

// Whoever sends or takes bytes slowly is given up after a while, which grows with their number.
const (
	slowStart = 30 * time.Second
	slowest   = 32 << 10 // bytes a second
	// longestRequest is more than the longest body and the longest wait take together; for an answer that is not short, the time
	// begins anew.
	longestRequest = time.Hour
	// freeBytes of a body or an answer are not worth counting: a connection keeps about as many.
	freeBytes = 64 << 10
)

// within is how long a number of bytes may take.
func within(bytes int64) time.Duration {
	return slowStart + time.Duration(bytes/slowest)*time.Second
}

// paced is a body whose sender must keep pace.
type paced struct {
	body    io.Reader
	control *http.ResponseController
	begun   time.Time
	had     int64
}

func (p *paced) Read(into []byte) (n int, err error) {
	_ = p.control.SetReadDeadline(p.begun.Add(within(p.had))) // where there is no connection, there is nobody slow
	n, err = p.body.Read(into)
	p.had += int64(n)
	return n, err
}

// received ends the hurry of a body that is there: a deadline that passes while a request is worked on would look as if the
// caller had gone.
func (p *paced) received() { _ = p.control.SetReadDeadline(time.Time{}) }

// hurry limits how long a body may take that no endpoint reads: then the server itself does, before it answers.
func hurry(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(slowStart))
	}
}
