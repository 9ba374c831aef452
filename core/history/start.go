package history

import (
	"strconv"
	"time"
)

// Started is the first event of a generation. [NewStarted] makes one.
type Started struct {
	filed
	Generation int
	Workflow   string
	// Definition is the version of the published definition that the generation runs. Zero: the
	// program's own code.
	Definition int
	Input      Payload
	// Behavior is the behavior version of the generation; see [Behavior].
	Behavior int
	// Seed of the run's random numbers.
	Seed uint64
	// Parent is set on a child run.
	Parent *Parent
	// Attributes that the run begins with.
	Attributes Attributes
	// Signals that the generation before had received and not yet taken, in order
	// (continue-as-new).
	Signals []*SignalReceived
	// Origin is the generation in which the run began that this one is of, if its id was used
	// before. Zero: the first.
	Origin int
	// Mail lists the names of the messages that earlier generations of the run took, the newest
	// last, so that a repeated one is known (PROTOCOL.md rule 6): see [MessageName]. In logs from
	// before, it lists ids alone.
	Mail []string
	// Forgot is until when more messages were taken than Mail lists: an earlier message may be one
	// of these, repeated. Zero: it lists all.
	Forgot time.Time
	// Logs says which logs of earlier generations there are. Nil: all.
	Logs *Logs
	// Base is where a reset run continues: its log begins with the records of an earlier
	// generation, and this event comes after them. Then only the seed and the messages count: a run
	// that was reset draws other random numbers.
	Base *Base
	// Letters are the signals and updates that came after the base, in order. Older logs have
	// Signals instead, and no updates. Updates that were rejected then are not among them, and
	// those that were accepted say so.
	Letters []Mail
	// Reset is the request that began this generation, where no record has it: the run had ended.
	Reset *ResetRequested
}

// NewStarted makes the first event of a new generation, under this program's behavior version.
func NewStarted(generation int, workflow string, input Payload, seed uint64) *Started {
	return &Started{
		Generation: generation, Workflow: workflow, Input: input, Seed: seed, Behavior: Behavior,
	}
}

// Parent names the command of another run that started this one.
type Parent struct {
	Run        string `json:"run"`
	Generation int    `json:"generation"`
	Seq        int64  `json:"seq"`
}

// Base is a place in the log of an earlier generation: its record of this number is the last that
// counts.
type Base struct {
	Generation, Record int
}

// Logs says which logs of a run's earlier generations are kept: those of the generations from First
// on, and generation 1's, by which a start is known that is asked for again.
type Logs struct {
	First int
	// Expired are so many before First: who records this start deletes them.
	Expired int
	// Ended: all before it had ended at the time At.
	Ended int
	At    time.Time
}

func (*Started) Kind() string       { return "started" }
func (e *Started) Key(g int) string { return startKey(g) }
func (e *Started) write(w *writer) {
	w.int("generation", int64(e.Generation))
	w.text("workflow", e.Workflow)
	w.intIf("definition", int64(e.Definition))
	w.payloadIf("input", e.Input)
	w.intIf("behavior", int64(e.Behavior))
	w.name("seed") // as text: a JSON number of 64 bits loses digits in other readers
	w.element(formatSeed(e.Seed))
	if e.Parent != nil {
		w.name("parent")
		e.Parent.write(w)
	}
	e.Attributes.writeIf(w)
	if len(e.Signals) > 0 {
		w.name("signals")
		w.beginList()
		for _, signal := range e.Signals {
			w.begin()
			signal.write(w)
			w.end()
		}
		w.endList()
	}
	w.intIf("origin", int64(e.Origin))
	w.textsIf("mail", e.Mail)
	w.timeIf("forgot", e.Forgot)
	if e.Logs != nil {
		w.name("logs")
		w.begin()
		w.int("first", int64(e.Logs.First))
		w.intIf("expired", int64(e.Logs.Expired))
		w.int("ended", int64(e.Logs.Ended))
		w.timeIf("at", e.Logs.At)
		w.end()
	}
	if e.Base != nil {
		w.name("base")
		w.begin()
		w.int("generation", int64(e.Base.Generation))
		w.int("record", int64(e.Base.Record))
		w.end()
	}
	if len(e.Letters) > 0 {
		w.name("letters")
		w.beginList()
		for _, letter := range e.Letters {
			writeEvent(w, letter)
		}
		w.endList()
	}
	if e.Reset != nil {
		w.name("reset")
		w.begin()
		e.Reset.write(w)
		w.end()
	}
}

func (e *Started) read(key []byte, r *reader) {
	switch string(key) {
	case "generation":
		e.Generation = int(r.int())
	case "workflow":
		e.Workflow = r.name()
	case "definition":
		e.Definition = int(r.int())
	case "input":
		e.Input = r.payload()
	case "behavior":
		e.Behavior = int(r.int())
	case "seed":
		e.Seed = parseSeed(r)
	case "parent":
		e.Parent = readParent(r)
	case "attributes":
		e.Attributes = readAttributes(r)
	case "signals":
		for more := r.enter(); more; more = r.element() {
			signal := &SignalReceived{}
			for key, more := r.first(); more; key, more = r.next() {
				signal.read(key, r)
			}
			e.Signals = append(e.Signals, signal)
		}
	case "origin":
		e.Origin = int(r.int())
	case "mail":
		e.Mail = r.texts()
	case "forgot":
		e.Forgot = r.time()
	case "logs":
		e.Logs = &Logs{}
		for key, more := r.first(); more; key, more = r.next() {
			switch string(key) {
			case "first":
				e.Logs.First = int(r.int())
			case "expired":
				e.Logs.Expired = int(r.int())
			case "ended":
				e.Logs.Ended = int(r.int())
			case "at":
				e.Logs.At = r.time()
			default:
				r.skip()
			}
		}
	case "base":
		e.Base = &Base{}
		for key, more := r.first(); more; key, more = r.next() {
			switch string(key) {
			case "generation":
				e.Base.Generation = int(r.int())
			case "record":
				e.Base.Record = int(r.int())
			default:
				r.skip()
			}
		}
	case "letters":
		for more := r.enter(); more; more = r.element() {
			letter, ok := readEvent(r).(Mail)
			if !ok {
				r.fail("a letter expected: a signal or an update")
				return
			}
			e.Letters = append(e.Letters, letter)
		}
	case "reset":
		e.Reset = &ResetRequested{}
		for key, more := r.first(); more; key, more = r.next() {
			e.Reset.read(key, r)
		}
	default:
		r.skip()
	}
}

func (p *Parent) write(w *writer) {
	w.begin()
	w.text("run", p.Run)
	w.int("generation", int64(p.Generation))
	w.int("seq", p.Seq)
	w.end()
}

func readParent(r *reader) *Parent {
	p := &Parent{}
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "run":
			p.Run = r.text()
		case "generation":
			p.Generation = int(r.int())
		case "seq":
			p.Seq = r.int()
		default:
			r.skip()
		}
	}
	return p
}

// ContinueAsNew closes the generation; the run goes on in the next one, with an empty log.
type ContinueAsNew struct {
	emitted
	Workflow string
	Input    Payload
	// Definition is the version of the published definition that the next generation runs. Zero:
	// the one that this generation has. [LatestDefinition]: the latest then.
	Definition int
}

// LatestDefinition stands for the highest version that is published when a generation begins.
const LatestDefinition = -1

func (*ContinueAsNew) Kind() string   { return "continue-as-new" }
func (*ContinueAsNew) Status() Status { return ContinuedAsNew }
func (c *ContinueAsNew) Fields() []Field {
	return []Field{
		{"workflow", c.Workflow}, {"input", string(c.Input)}, {"version", versionText(c.Definition)},
	}
}

// versionText is a version of a definition as a field of a command.
func versionText(version int) string {
	switch version {
	case 0:
		return ""
	case LatestDefinition:
		return "latest"
	}
	return strconv.Itoa(version)
}

func (c *ContinueAsNew) write(w *writer) {
	w.text("workflow", c.Workflow)
	w.payloadIf("input", c.Input)
	w.intIf("definition", int64(c.Definition))
}

func (c *ContinueAsNew) read(key []byte, r *reader) {
	switch string(key) {
	case "workflow":
		c.Workflow = r.name()
	case "input":
		c.Input = r.payload()
	case "definition":
		c.Definition = int(r.int())
	default:
		r.skip()
	}
}

// CompleteRun closes the run with a result.
type CompleteRun struct {
	emitted
	Result Payload
}

func (*CompleteRun) Kind() string      { return "complete" }
func (*CompleteRun) Status() Status    { return Completed }
func (c *CompleteRun) Fields() []Field { return []Field{{"result", string(c.Result)}} }
func (c *CompleteRun) write(w *writer) { w.payloadIf("result", c.Result) }
func (c *CompleteRun) read(key []byte, r *reader) {
	if string(key) == "result" {
		c.Result = r.payload()
	} else {
		r.skip()
	}
}

// FailRun closes the run with a failure.
type FailRun struct {
	emitted
	Failure *Failure
}

func (*FailRun) Kind() string   { return "fail" }
func (*FailRun) Status() Status { return Failed }

// Fields leave out a panic's stack: its addresses differ from process to process.
func (c *FailRun) Fields() []Field          { return c.Failure.fields() }
func (c *FailRun) write(w *writer)          { w.failureIf(c.Failure) }
func (c *FailRun) read(k []byte, r *reader) { readOnlyFailure(k, r, &c.Failure) }

// CancelRun closes a run that gave in to a request to cancel it.
type CancelRun struct {
	emitted
	Failure *Failure
}

func (*CancelRun) Kind() string               { return "cancel" }
func (*CancelRun) Status() Status             { return Cancelled }
func (c *CancelRun) Fields() []Field          { return c.Failure.fields() }
func (c *CancelRun) write(w *writer)          { w.failureIf(c.Failure) }
func (c *CancelRun) read(k []byte, r *reader) { readOnlyFailure(k, r, &c.Failure) }

func (f *Failure) fields() []Field {
	if f == nil {
		return nil
	}
	return []Field{{"failure", string(f.FailureKind)}, {"type", f.Type}, {"message", f.Message}, {"details", string(f.Details)}}
}

func readOnlyFailure(key []byte, r *reader, into **Failure) {
	if string(key) == "failure" {
		*into = readFailure(r)
	} else {
		r.skip()
	}
}
