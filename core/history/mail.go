package history

// letter is the part that all mail shares.
type letter struct {
	filed
	ID     string
	chosen bool
}

func (l *letter) MailID() string { return l.ID }
func (l *letter) Chosen() bool   { return l.chosen }
func (l *letter) Choose()        { l.chosen = true }

func (l *letter) write(w *writer) {
	w.text("id", l.ID)
	w.flagIf("chosen", l.chosen)
}

func (l *letter) readLetter(key []byte, r *reader) {
	switch string(key) {
	case "id":
		l.ID = r.text()
	case "chosen":
		l.chosen = r.flag()
	default:
		r.skip()
	}
}

// SignalReceived is a message to the run's code, without an answer.
type SignalReceived struct {
	letter
	Name  string
	Input Payload
}

func (*SignalReceived) Kind() string     { return "signal" }
func (e *SignalReceived) Key(int) string { return mailKey(e.ID, e.Kind(), e.Name) }
func (e *SignalReceived) write(w *writer) {
	e.letter.write(w)
	w.text("name", e.Name)
	w.payloadIf("input", e.Input)
}

func (e *SignalReceived) read(key []byte, r *reader) {
	switch string(key) {
	case "name":
		e.Name = r.name()
	case "input":
		e.Input = r.payload()
	default:
		e.readLetter(key, r)
	}
}

// NewSignal makes a signal of this id.
func NewSignal(id, name string, input Payload) *SignalReceived {
	return &SignalReceived{letter: letter{ID: id}, Name: name, Input: input}
}

// UpdateReceived is a message to the run's code that is validated and answered.
type UpdateReceived struct {
	letter
	Name  string
	Input Payload
	// Accepted: the run accepted it in another life (before a reset): its validator is not asked again.
	Accepted bool
}

func (*UpdateReceived) Kind() string     { return "update" }
func (e *UpdateReceived) Key(int) string { return mailKey(e.ID, e.Kind(), e.Name) }
func (e *UpdateReceived) write(w *writer) {
	e.letter.write(w)
	w.text("name", e.Name)
	w.payloadIf("input", e.Input)
	w.flagIf("accepted", e.Accepted)
}

func (e *UpdateReceived) read(key []byte, r *reader) {
	switch string(key) {
	case "name":
		e.Name = r.name()
	case "input":
		e.Input = r.payload()
	case "accepted":
		e.Accepted = r.flag()
	default:
		e.readLetter(key, r)
	}
}

// NewUpdate makes an update of this id.
func NewUpdate(id, name string, input Payload) *UpdateReceived {
	return &UpdateReceived{letter: letter{ID: id}, Name: name, Input: input}
}

// UpdatePhase is how far an update has come.
type UpdatePhase string

const (
	UpdateAccepted  UpdatePhase = "accepted"  // its validator agreed; the handler has begun
	UpdateRejected  UpdatePhase = "rejected"  // its validator refused, or nothing handles it: nothing happened
	UpdateCompleted UpdatePhase = "completed" // the handler has returned
)

// RespondUpdate answers an update: accepted and later completed, or rejected.
type RespondUpdate struct {
	emitted
	ID string
	// Name of the update: another one may have the same id. Records from before names have none.
	Name    string
	Phase   UpdatePhase
	Result  Payload
	Failure *Failure
}

func (*RespondUpdate) Kind() string { return "respond-update" }
func (c *RespondUpdate) Fields() []Field {
	return append([]Field{{"id", c.ID}, {"phase", string(c.Phase)}, {"result", string(c.Result)}}, c.Failure.fields()...)
}

// Answers says whether this is an answer to an update.
func (c *RespondUpdate) Answers(update *UpdateReceived) bool {
	return c.ID == update.ID && (c.Name == update.Name || c.Name == "")
}

func (c *RespondUpdate) write(w *writer) {
	w.text("id", c.ID)
	w.textIf("name", c.Name)
	w.text("phase", string(c.Phase))
	w.payloadIf("result", c.Result)
	w.failureIf(c.Failure)
}

func (c *RespondUpdate) read(key []byte, r *reader) {
	switch string(key) {
	case "id":
		c.ID = r.text()
	case "name":
		c.Name = r.name()
	case "phase":
		c.Phase = UpdatePhase(r.name())
	case "result":
		c.Result = r.payload()
	case "failure":
		c.Failure = readFailure(r)
	default:
		r.skip()
	}
}

// CancelRequested asks the run's code to stop.
type CancelRequested struct {
	letter
	Reason string
}

func (*CancelRequested) Kind() string     { return "cancel-requested" }
func (e *CancelRequested) Key(int) string { return mailKey(e.ID, e.Kind(), "") }
func (e *CancelRequested) write(w *writer) {
	e.letter.write(w)
	w.wordsIf("reason", e.Reason)
}

func (e *CancelRequested) read(key []byte, r *reader) {
	if string(key) == "reason" {
		e.Reason = r.words()
	} else {
		e.readLetter(key, r)
	}
}

// NewCancel makes a request to cancel of this id.
func NewCancel(id, reason string) *CancelRequested {
	return &CancelRequested{letter: letter{ID: id}, Reason: reason}
}

// TerminateRequested ends the run without asking its code.
type TerminateRequested struct {
	letter
	Reason string
}

func (*TerminateRequested) Kind() string     { return "terminate-requested" }
func (e *TerminateRequested) Key(int) string { return mailKey(e.ID, e.Kind(), "") }
func (e *TerminateRequested) write(w *writer) {
	e.letter.write(w)
	w.wordsIf("reason", e.Reason)
}

func (e *TerminateRequested) read(key []byte, r *reader) {
	if string(key) == "reason" {
		e.Reason = r.words()
	} else {
		e.readLetter(key, r)
	}
}

// NewTerminate makes a termination of this id.
func NewTerminate(id, reason string) *TerminateRequested {
	return &TerminateRequested{letter: letter{ID: id}, Reason: reason}
}

// TerminateRun closes a run without asking its code.
type TerminateRun struct {
	emitted
	Failure *Failure
}

func (*TerminateRun) Kind() string               { return "terminate" }
func (*TerminateRun) Status() Status             { return Terminated }
func (c *TerminateRun) Fields() []Field          { return c.Failure.fields() }
func (c *TerminateRun) write(w *writer)          { w.failureIf(c.Failure) }
func (c *TerminateRun) read(k []byte, r *reader) { readOnlyFailure(k, r, &c.Failure) }

// ResetRequested has the run go on in a new generation from one of its records.
type ResetRequested struct {
	letter
	// Generation is the one that the reset ends. Record is the last record that counts: of
	// generation Of, or of Generation if Of is zero.
	Generation, Record, Of int
	// ExcludeSignals: the signals that came after the record do not come again.
	ExcludeSignals bool
	// Definition is the version of the published definition that the run goes on with. Zero: the
	// one that it has.
	Definition int
	Reason     string
}

// Base is the place from which the run continues.
func (e *ResetRequested) Base() Base {
	if e.Of == 0 {
		return Base{e.Generation, e.Record}
	}
	return Base{e.Of, e.Record}
}

func (*ResetRequested) Kind() string     { return "reset-requested" }
func (e *ResetRequested) Key(int) string { return mailKey(e.ID, e.Kind(), "") }
func (e *ResetRequested) write(w *writer) {
	e.letter.write(w)
	w.int("generation", int64(e.Generation))
	w.int("record", int64(e.Record))
	w.intIf("of", int64(e.Of))
	w.flagIf("excludeSignals", e.ExcludeSignals)
	w.intIf("definition", int64(e.Definition))
	w.wordsIf("reason", e.Reason)
}

func (e *ResetRequested) read(key []byte, r *reader) {
	switch string(key) {
	case "generation":
		e.Generation = int(r.int())
	case "record":
		e.Record = int(r.int())
	case "of":
		e.Of = int(r.int())
	case "excludeSignals":
		e.ExcludeSignals = r.flag()
	case "definition":
		e.Definition = int(r.int())
	case "reason":
		e.Reason = r.words()
	default:
		e.readLetter(key, r)
	}
}

// NewReset makes a reset of this id.
func NewReset(id string, generation, record int, reason string) *ResetRequested {
	return &ResetRequested{letter: letter{ID: id}, Generation: generation, Record: record, Reason: reason}
}

// ResetRun closes a generation that a reset takes the place of.
type ResetRun struct{ emitted }

func (*ResetRun) Kind() string             { return "reset" }
func (*ResetRun) Status() Status           { return WasReset }
func (*ResetRun) Fields() []Field          { return nil }
func (*ResetRun) write(*writer)            {}
func (*ResetRun) read(_ []byte, r *reader) { r.skip() }
