package history

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// ScheduleActivity asks for an activity: by a task message, or inline, as a step of the invocation that records it.
type ScheduleActivity struct {
	numbered
	ID       string // the author's name for this call; empty: "activity-<seq>"
	Activity string
	Input    Payload
	// Inline: a step. Whoever commits the record runs it.
	Inline  bool
	Options ActivityOptions
}

// ActivityOptions are the parts of an activity's call that have a default.
type ActivityOptions struct {
	// Timeouts. Zero: none. See the Timeout constants of [Failure].
	ScheduleToStart, StartToClose, ScheduleToClose, Heartbeat time.Duration
	Retry                                                     RetryPolicy
	Cancellation                                              CancellationType
}

// CancellationType says what a cancelled scope does with an activity under way (S1: cancellation_type).
type CancellationType string

const (
	WaitCancelled CancellationType = ""        // ask it to stop, and wait for its answer
	TryCancel     CancellationType = "try"     // ask it to stop, and do not wait
	Abandon       CancellationType = "abandon" // let it go on, and do not wait
)

// RetryPolicy says when a failed attempt is followed by another one. The zero policy retries without end, 1 s after the
// first attempt, twice as long after each further one, at most 100 s apart.
type RetryPolicy struct {
	InitialInterval    time.Duration // before the second attempt; zero: 1 s
	MaxInterval        time.Duration // between attempts; zero: 100 × InitialInterval
	BackoffCoefficient float64       // growth from wait to wait; zero: 2
	MaxAttempts        int           // zero: no limit
	NonRetryable       []string      // types of failure that another attempt would not help
}

// Wait before the attempt that follows attempt number n (from 1) which failed so; false: there is no further attempt.
func (p RetryPolicy) Wait(n int, failure *Failure) (wait time.Duration, again bool) {
	if failure.NonRetryable || failure.FailureKind == Cancel || p.MaxAttempts > 0 && n >= p.MaxAttempts {
		return 0, false
	}
	for cause := failure; cause != nil; cause = cause.Cause { // the author's own type may lie under wrapping errors
		if slices.Contains(p.NonRetryable, cause.Type) {
			return 0, false
		}
	}
	if failure.RetryAfter > 0 {
		return failure.RetryAfter, true
	}
	initial, coefficient, maximum := p.InitialInterval, p.BackoffCoefficient, p.MaxInterval
	if initial <= 0 {
		initial = time.Second
	}
	if !(coefficient >= 1) { // not a number is neither
		coefficient = 2
	}
	if maximum <= 0 {
		maximum = 100 * min(initial, math.MaxInt64/100)
	}
	next := float64(initial)
	for range n - 1 {
		if next *= coefficient; next >= float64(maximum) {
			return maximum, true
		}
	}
	return min(time.Duration(next), maximum), true
}

func (*ScheduleActivity) Kind() string { return "schedule-activity" }

// Name is the author's id of this call, or the one it has by default.
func (c *ScheduleActivity) Name() string {
	if c.ID != "" {
		return c.ID
	}
	return "activity-" + strconv.FormatInt(c.seq, 10)
}

// Fields: what would change the outside world if it changed.
func (c *ScheduleActivity) Fields() []Field {
	o := c.Options
	return []Field{
		{"activity", c.Activity}, {"id", c.ID}, {"input", string(c.Input)}, {"inline", strconv.FormatBool(c.Inline)},
		{"schedule-to-start", o.ScheduleToStart.String()}, {"start-to-close", o.StartToClose.String()},
		{"schedule-to-close", o.ScheduleToClose.String()}, {"heartbeat", o.Heartbeat.String()},
		{"cancellation", string(o.Cancellation)}, {"retry", o.Retry.String()},
	}
}

// String shows a policy in an error.
func (p RetryPolicy) String() string {
	if p.IsZero() {
		return ""
	}
	w := &writer{}
	p.write(w)
	return string(w.out)
}

func (c *ScheduleActivity) write(w *writer) {
	w.int("seq", c.seq)
	w.text("activity", c.Activity)
	w.textIf("id", c.ID)
	w.payloadIf("input", c.Input)
	w.flagIf("inline", c.Inline)
	w.durationIf("scheduleToStart", c.Options.ScheduleToStart)
	w.durationIf("startToClose", c.Options.StartToClose)
	w.durationIf("scheduleToClose", c.Options.ScheduleToClose)
	w.durationIf("heartbeat", c.Options.Heartbeat)
	w.textIf("cancellation", string(c.Options.Cancellation))
	c.Options.Retry.writeIf(w)
}

func (c *ScheduleActivity) read(key []byte, r *reader) {
	switch string(key) {
	case "seq":
		c.seq = r.int()
	case "activity":
		c.Activity = r.name()
	case "id":
		c.ID = r.text()
	case "input":
		c.Input = r.payload()
	case "inline":
		c.Inline = r.flag()
	case "scheduleToStart":
		c.Options.ScheduleToStart = r.duration()
	case "startToClose":
		c.Options.StartToClose = r.duration()
	case "scheduleToClose":
		c.Options.ScheduleToClose = r.duration()
	case "heartbeat":
		c.Options.Heartbeat = r.duration()
	case "cancellation":
		c.Options.Cancellation = CancellationType(r.name())
	case "retry":
		c.Options.Retry = readRetryPolicy(r)
	default:
		r.skip()
	}
}

// IsZero says whether the policy is the default one.
func (p RetryPolicy) IsZero() bool {
	return p.InitialInterval == 0 && p.MaxInterval == 0 && (p.BackoffCoefficient == 0 || math.IsNaN(p.BackoffCoefficient)) && p.MaxAttempts == 0 && len(p.NonRetryable) == 0
}

func (p RetryPolicy) writeIf(w *writer) {
	if !p.IsZero() {
		w.name("retry")
		p.write(w)
	}
}

func (p RetryPolicy) write(w *writer) {
	w.begin()
	w.durationIf("initial", p.InitialInterval)
	w.durationIf("maximum", p.MaxInterval)
	if p.BackoffCoefficient != 0 && !math.IsNaN(p.BackoffCoefficient) {
		w.name("coefficient")
		finite := max(-math.MaxFloat64, min(p.BackoffCoefficient, math.MaxFloat64)) // JSON has no infinity
		w.out = strconv.AppendFloat(w.out, finite, 'g', -1, 64)
		w.comma = true
	}
	w.intIf("maxAttempts", int64(p.MaxAttempts))
	w.textsIf("nonRetryable", p.NonRetryable)
	w.end()
}

func readRetryPolicy(r *reader) (p RetryPolicy) {
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "initial":
			p.InitialInterval = r.duration()
		case "maximum":
			p.MaxInterval = r.duration()
		case "coefficient":
			raw := r.raw()
			value, err := strconv.ParseFloat(string(raw), 64)
			if err != nil {
				r.fail("a number expected, not %s", abbreviate(raw))
			}
			p.BackoffCoefficient = value
		case "maxAttempts":
			p.MaxAttempts = int(r.int())
		case "nonRetryable":
			p.NonRetryable = r.texts()
		default:
			r.skip()
		}
	}
	return
}

// CancelActivity asks an activity to stop. With Abandoned, the run no longer waits for its answer.
type CancelActivity struct {
	numbered
	Abandoned bool
}

func (*CancelActivity) Kind() string { return "cancel-activity" }
func (c *CancelActivity) Fields() []Field {
	return []Field{{"abandoned", strconv.FormatBool(c.Abandoned)}}
}

func (c *CancelActivity) write(w *writer) {
	w.int("seq", c.seq)
	w.flagIf("abandoned", c.Abandoned)
}

func (c *CancelActivity) read(key []byte, r *reader) {
	switch string(key) {
	case "seq":
		c.seq = r.int()
	case "abandoned":
		c.Abandoned = r.flag()
	default:
		r.skip()
	}
}

// Attempt is one try of an activity that did not succeed, as the run's history shows it.
type Attempt struct {
	Number  int
	Started time.Time
	Ended   time.Time
	Worker  string
	Failure *Failure
}

// ActivityResolved is the answer of an activity: a result, or the failure of its last attempt.
type ActivityResolved struct {
	filed
	Seq     int64
	Result  Payload
	Failure *Failure
	// Started is when the attempt that this is the answer of began; Number counts from 1.
	Started time.Time
	Number  int
	Worker  string
	// Attempts that failed before it: the last few, oldest first.
	Attempts []Attempt
}

// KeptAttempts is how many failed attempts a resolution shows.
const KeptAttempts = 10

func (*ActivityResolved) Kind() string       { return "activity-resolved" }
func (e *ActivityResolved) Key(g int) string { return resultKey(g, e.Seq) }
func (e *ActivityResolved) Resolves() int64  { return e.Seq }
func (e *ActivityResolved) write(w *writer) {
	w.int("seq", e.Seq)
	w.payloadIf("result", e.Result)
	w.failureIf(e.Failure)
	w.timeIf("started", e.Started)
	if e.Number > 1 {
		w.int("attempt", int64(e.Number))
	}
	w.textIf("worker", e.Worker)
	writeAttempts(w, e.Attempts)
}

// writeAttempts writes the attempts, if there are any.
func writeAttempts(w *writer, attempts []Attempt) {
	if len(attempts) == 0 {
		return
	}
	w.name("attempts")
	w.beginList()
	for _, a := range attempts {
		w.begin()
		w.int("attempt", int64(a.Number))
		w.timeIf("started", a.Started)
		w.timeIf("ended", a.Ended)
		w.textIf("worker", a.Worker)
		w.failureIf(a.Failure)
		w.end()
	}
	w.endList()
}

func (e *ActivityResolved) read(key []byte, r *reader) {
	switch string(key) {
	case "seq":
		e.Seq = r.int()
	case "result":
		e.Result = r.payload()
	case "failure":
		e.Failure = readFailure(r)
	case "started":
		e.Started = r.time()
	case "attempt":
		e.Number = int(r.int())
	case "worker":
		e.Worker = r.name()
	case "attempts":
		e.Attempts = readAttempts(r)
	default:
		r.skip()
	}
}

func readAttempts(r *reader) (attempts []Attempt) {
	for more := r.enter(); more; more = r.element() {
		attempts = append(attempts, readAttempt(r))
	}
	return
}

func readAttempt(r *reader) (a Attempt) {
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "attempt":
			a.Number = int(r.int())
		case "started":
			a.Started = r.time()
		case "ended":
			a.Ended = r.time()
		case "worker":
			a.Worker = r.name()
		case "failure":
			a.Failure = readFailure(r)
		default:
			r.skip()
		}
	}
	return
}
