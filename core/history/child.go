package history

// StartChild asks for a run of another workflow, whose end resolves this command.
type StartChild struct {
	numbered
	Run      string // id of the child; empty: made of the parent's id and the sequence number
	Workflow string
	Input    Payload
	// Definition is the version of the published definition that the child runs. Zero: the latest.
	Definition int
	// ParentClosePolicy says what becomes of the child when its parent closes before it.
	ParentClosePolicy ParentClosePolicy
	Attributes        Attributes
}

// ParentClosePolicy says what becomes of a child when its parent closes.
type ParentClosePolicy string

const (
	CancelChildren    ParentClosePolicy = ""          // it is asked to cancel, and may clean up
	TerminateChildren ParentClosePolicy = "terminate" // it ends at once
	AbandonChildren   ParentClosePolicy = "leave"     // it goes on
)

// TooManyAncestors is the type of the failure of a child that is not started: too many runs would
// wait for it, each for the next.
const TooManyAncestors = "too-many-ancestors"

func (*StartChild) Kind() string { return "start-child" }
func (c *StartChild) Fields() []Field {
	return []Field{
		{"workflow", c.Workflow}, {"run", c.Run}, {"input", string(c.Input)},
		{"on-close", string(c.ParentClosePolicy)}, {"version", versionText(c.Definition)},
	}
}

func (c *StartChild) write(w *writer) {
	w.int("seq", c.seq)
	w.text("workflow", c.Workflow)
	w.textIf("run", c.Run)
	w.payloadIf("input", c.Input)
	w.intIf("definition", int64(c.Definition))
	w.textIf("onClose", string(c.ParentClosePolicy))
	c.Attributes.writeIf(w)
}

func (c *StartChild) read(key []byte, r *reader) {
	switch string(key) {
	case "seq":
		c.seq = r.int()
	case "workflow":
		c.Workflow = r.name()
	case "run":
		c.Run = r.text()
	case "input":
		c.Input = r.payload()
	case "definition":
		c.Definition = int(r.int())
	case "onClose":
		c.ParentClosePolicy = ParentClosePolicy(r.name())
	case "attributes":
		c.Attributes = readAttributes(r)
	default:
		r.skip()
	}
}

// CancelChild asks a child to cancel. The parent goes on waiting for its end.
type CancelChild struct{ numbered }

func (*CancelChild) Kind() string               { return "cancel-child" }
func (*CancelChild) Fields() []Field            { return nil }
func (c *CancelChild) write(w *writer)          { w.int("seq", c.seq) }
func (c *CancelChild) read(k []byte, r *reader) { readOnlySeq(k, r, &c.seq) }

// ChildResolved is the end of a child.
type ChildResolved struct {
	filed
	Seq     int64
	Result  Payload
	Failure *Failure
}

func (*ChildResolved) Kind() string       { return "child-resolved" }
func (e *ChildResolved) Key(g int) string { return resultKey(g, e.Seq) }
func (e *ChildResolved) Resolves() int64  { return e.Seq }
func (e *ChildResolved) write(w *writer) {
	w.int("seq", e.Seq)
	w.payloadIf("result", e.Result)
	w.failureIf(e.Failure)
}

func (e *ChildResolved) read(key []byte, r *reader) {
	switch string(key) {
	case "seq":
		e.Seq = r.int()
	case "result":
		e.Result = r.payload()
	case "failure":
		e.Failure = readFailure(r)
	default:
		r.skip()
	}
}
