package main

// Scenario: the workflows, who calls, and how many faults.
type Scenario struct {
	Name, What      string
	Code            [maxRuns][maxGenerations][]Instruction
	ChildCommand    uint8 // the command of run 0, generation 1, that run 1 is the child of
	Starts, Signals int   // API callers
	Visits          int   // at one time; 0: two
	Receives        uint8 // before the dead letter queue; 0: more than there are faults
	Batches         bool  // functions/activate may be given two messages at once
	Long            bool  // there are long timers
	Torn            bool  // a look is no snapshot: summary, inbox and log are read one after the other
	Broken          bool  // activations fail until the deployment is fixed
	Begun           bool  // the start is in the log already, and its resume gone
	Token           bool  // tasks are completed from outside, by token, once
	Budget
}

// Model is one scenario under some of the rules.
type Model struct {
	scenario   *Scenario
	rules      Rules
	operations [maxRuns][maxGenerations][maxCommands]Operation
	telling    bool // names are wanted, for a trace
}

func newModel(scenario Scenario, rules Rules) *Model {
	if scenario.Visits == 0 {
		scenario.Visits = 2
	}
	if scenario.Receives == 0 {
		scenario.Receives = scenario.Crash + scenario.Duplicate + 1
	}
	m := &Model{scenario: &scenario, rules: rules}
	for run := range scenario.Code {
		for g, code := range scenario.Code[run] {
			m.operations[run][g] = operationsOf(code)
		}
	}
	return m
}

func (m *Model) initial() (s State) {
	c := m.scenario
	s.Budget = c.Budget
	if c.Broken {
		s.Broken = 1
	}
	if c.Starts > 0 {
		return
	}
	r := &s.Runs[0]
	r.Token, r.Generation = 1, 1
	if c.Begun {
		r.commit(1, Record{Takes: itemStart})
	} else {
		r.Inbox[0] = itemStart
		s.resume(0)
	}
	return
}

func code(instructions ...Instruction) []Instruction { return instructions }

var (
	task   = Instruction{Operation: EmitTask}
	inline = Instruction{Operation: EmitStep}
	short  = Instruction{Operation: EmitTimer}
	long   = Instruction{Operation: EmitLong}
	child  = Instruction{Operation: EmitChild}
	signal = Instruction{Operation: AwaitSignal}
	anew   = Instruction{Operation: ContinueAsNew}
	end    = Instruction{Operation: End}
)

func await(command uint8) Instruction  { return Instruction{Await, command} }
func either(command uint8) Instruction { return Instruction{AwaitEither, command} }
func cancel(command uint8) Instruction { return Instruction{Cancel, command} }

func one(first []Instruction, second ...Instruction) (c [maxRuns][maxGenerations][]Instruction) {
	c[0] = [maxGenerations][]Instruction{first, second}
	return
}

func family(parent, first []Instruction, second ...Instruction) (c [maxRuns][maxGenerations][]Instruction) {
	c[0][0], c[1][0], c[1][1] = parent, first, second
	return
}

var scenarios = []Scenario{
	{Name: "task", What: "start, one activity, end", Code: one(code(task, await(0), end)), Starts: 1, Budget: Budget{Crash: 1, Lost: 1, Fail: 1}},
	{Name: "step", What: "a task beside two inline steps", Code: one(code(task, inline, await(1), inline, await(2), await(0), end)), Budget: Budget{Crash: 1, Duplicate: 1}},
	{Name: "short", What: "too little time left for the step", Code: one(code(task, inline, await(1), await(0), end)), Budget: Budget{Crash: 1, Short: 1}},
	{Name: "signal", What: "a signal after a step, then an activity", Code: one(code(inline, await(0), signal, task, await(1), end)), Signals: 1, Budget: Budget{Crash: 1}},
	{Name: "signals", What: "two signals, each followed by an activity", Code: one(code(signal, task, signal, await(0), end)), Begun: true, Signals: 2},
	{Name: "starts", What: "two starts with one id", Code: one(code(task, await(0), end)), Starts: 2, Budget: Budget{Crash: 1}},
	{Name: "child", What: "a child with a step and a task", Code: family(code(child, await(0), end), code(inline, await(0), task, await(1), end)), Budget: Budget{Crash: 1, Duplicate: 1}},
	{Name: "childcont", What: "a child that continues as new", Code: family(code(child, await(0), end), code(task, await(0), anew), inline, await(0), end), Budget: Budget{Crash: 1, Duplicate: 1}},
	{Name: "left", What: "a child that nobody awaits, and the end", Code: family(code(signal, child, end), code(task, await(0), end)), Begun: true, Signals: 1, Budget: Budget{Crash: 1, Lost: 1}},
	{Name: "forget", What: "a child that nobody awaits, continue-as-new", Code: forget(code(signal, child, anew), code(task, end), code(end)), Begun: true, Signals: 1, Budget: Budget{Crash: 1, Lost: 1}},
	{Name: "cont", What: "a signal, continue-as-new, a signal", Code: one(code(signal, anew), signal, task, await(0), end), Begun: true, Signals: 2},
	{Name: "overtaken", What: "a step whose generation ends while it runs", Code: one(code(inline, signal, anew), task, await(0), end), Signals: 1, Budget: Budget{Lost: 1}},
	{Name: "timer", What: "a long timer and a short one", Code: one(code(long, short, await(1), await(0), end)), Long: true, Budget: Budget{Crash: 1, Pause: 1}},
	{Name: "timers", What: "two long timers in one bucket", Code: one(code(long, long, await(1), await(0), end)), Long: true, Budget: Budget{Crash: 1}},
	{Name: "race", What: "a signal or a long timer, the loser cancelled, then a task", Code: one(code(long, either(0), cancel(0), task, await(1), end)), Signals: 1, Long: true, Budget: Budget{Pause: 1}},
	{Name: "overlap", What: "two chains of steps in two visits: a signal starts the second", Code: one(code(inline, signal, inline, await(1), await(0), end)), Signals: 1, Budget: Budget{Crash: 1, Lost: 1}},
	{Name: "takeover", What: "a step that is taken over twice", Code: one(code(inline, await(0), end)), Budget: Budget{Crash: 2, Duplicate: 1}},
	{Name: "dormant", What: "no faults but the usual: handing over twice, tasks beside steps", Code: one(code(task, inline, await(1), inline, signal, await(2), await(0), end)), Signals: 1, Budget: Budget{Short: 1}},
	{Name: "stale", What: "activity results, reads that may be too old", Code: one(code(task, inline, await(1), task, await(0), await(2), end)), Budget: Budget{Crash: 1}},
	{Name: "fan", What: "two tasks sent together, of which some may be refused", Code: one(code(task, task, await(0), await(1), end)), Budget: Budget{Crash: 1}},

	{Name: "torn", What: "a look that is no snapshot: a signal, a task", Code: one(code(signal, task, await(0), end)), Begun: true, Signals: 1, Torn: true, Budget: Budget{Crash: 1, Duplicate: 1}},
	{Name: "torncont", What: "a look that is no snapshot: a signal, continue-as-new, a signal", Code: one(code(signal, anew), signal, end), Begun: true, Signals: 2, Torn: true},

	{Name: "batch", What: "batches of two: a child with a task", Code: family(code(child, await(0), end), code(task, await(0), end)), Batches: true, Budget: Budget{Crash: 1}},
	{Name: "batchmail", What: "batches of two: a signal, a child with a task", Code: family(code(child, signal, await(0), end), code(task, await(0), end)), Signals: 1, Batches: true},
	{Name: "batchsig", What: "batches of two: two signals", Code: one(code(signal, task, signal, await(0), end)), Begun: true, Signals: 2, Batches: true},
	{Name: "batchstep", What: "batches of two: a step beside a task", Code: one(code(task, inline, await(0), await(1), end)), Batches: true, Budget: Budget{Crash: 1}},

	{Name: "three", What: "three visits: a task beside a step", Code: one(code(task, inline, await(0), await(1), end)), Visits: 3, Budget: Budget{Crash: 1}},
	{Name: "threesig", What: "three visits: a signal, a task", Code: one(code(signal, task, await(0), end)), Begun: true, Signals: 1, Visits: 3, Budget: Budget{Crash: 1}},
	{Name: "threecont", What: "three visits: a signal, continue-as-new", Code: one(code(signal, anew), task, await(0), end), Begun: true, Signals: 1, Visits: 3, Budget: Budget{Lost: 1}},

	{Name: "dead", What: "messages die: a task beside a step", Code: one(code(task, inline, await(1), await(0), end)), Receives: 1, Budget: Budget{Crash: 1}},
	{Name: "deadsig", What: "messages die: a signal, a task", Code: one(code(signal, task, await(0), end)), Begun: true, Signals: 1, Receives: 1, Budget: Budget{Crash: 1}},
	{Name: "deadchild", What: "messages die: a child", Code: family(code(child, await(0), end), code(task, await(0), end)), Receives: 1, Budget: Budget{Crash: 1}},
	{Name: "orphan", What: "messages die: a child that ends at once", Code: family(code(child, await(0), end), code(end)), Receives: 1, Budget: Budget{Crash: 1, Duplicate: 1}},
	{Name: "deadcont", What: "messages die: continue-as-new", Code: one(code(signal, anew), task, await(0), end), Begun: true, Signals: 1, Receives: 1, Budget: Budget{Crash: 1}},
	{Name: "once", What: "a message dies while it is handled: a signal, a task", Code: one(code(signal, task, await(0), end)), Signals: 1, Begun: true, Receives: 1, Budget: Budget{Duplicate: 1}},
	{Name: "kept", What: "a result that cannot be had again arrives at a blocked run", Code: one(code(task, await(0), end)), Receives: 1, Token: true, Budget: Budget{Crash: 2}},
	{Name: "deadtimer", What: "messages die: a short timer", Code: one(code(short, await(0), task, await(1), end)), Receives: 1, Budget: Budget{Crash: 1}},
	{Name: "broken", What: "activations fail until the deployment is fixed: a task", Code: one(code(task, await(0), end)), Broken: true, Budget: Budget{Crash: 1, Duplicate: 1}},
	{Name: "brokenonce", What: "the same, and a message dies while it is handled", Code: one(code(task, await(0), end)), Receives: 1, Broken: true, Budget: Budget{Crash: 1, Duplicate: 1}},
	{Name: "brokenstep", What: "activations fail until the deployment is fixed: a task after a step", Code: one(code(inline, await(0), task, await(1), end)), Receives: 3, Broken: true, Budget: Budget{Crash: 2}},
	{Name: "wipe", What: "all queues are deleted and rebuilt: a child with a step and a task", Code: family(code(child, await(0), end), code(inline, task, await(0), await(1), end)), Budget: Budget{Wipe: 1}},
	{Name: "wipechild", What: "all queues are deleted and rebuilt: a child that ends at once", Code: family(code(child, await(0), end), code(end)), Budget: Budget{Crash: 1, Wipe: 1}},
	{Name: "wipesig", What: "all queues are deleted and rebuilt: a signal, a timer, continue-as-new", Code: one(code(signal, short, await(0), anew), task, await(0), end), Signals: 1, Begun: true, Budget: Budget{Wipe: 1}},
}

// forget has a child of run 0 whose parent continues as new.
func forget(parent, child, second []Instruction) (c [maxRuns][maxGenerations][]Instruction) {
	c[0] = [maxGenerations][]Instruction{parent, second}
	c[1][0] = child
	return
}

// witness is a scenario with a budget under which something is lost without a rule.
type witness struct {
	name   string
	budget Budget
}

func (w witness) scenario() Scenario {
	for _, scenario := range scenarios {
		if scenario.Name == w.name {
			scenario.Budget = w.budget
			return scenario
		}
	}
	panic("there is no scenario " + w.name)
}

var witnesses = map[string]witness{
	"FileFirst":        {"deadtimer", Budget{}},
	"ResumeAgain":      {"task", Budget{Crash: 1}},
	"MessageFirst":     {"task", Budget{Crash: 1}},
	"OneFiling":        {"signal", Budget{}},
	"Strong":           {"stale", Budget{Stale: 1}},
	"InboxFirst":       {"torn", Budget{Duplicate: 1}},
	"LookAgain":        {"torncont", Budget{}},
	"Lookback":         {"forget", Budget{Crash: 1}},
	"DeleteLast":       {"task", Budget{Crash: 1}},
	"AcknowledgeLast":  {"task", Budget{Crash: 1}},
	"OwnRecord":        {"overtaken", Budget{Lost: 1}},
	"PartialSend":      {"fan", Budget{Crash: 1}},
	"PartialAnswer":    {"batchmail", Budget{Crash: 1}},
	"Finish":           {"task", Budget{Crash: 1}},
	"Patience":         {"signal", Budget{}},
	"ResumeLater":      {"step", Budget{Crash: 1, Duplicate: 1}},
	"FinishFirst":      {"step", Budget{Crash: 2}},
	"Takeover":         {"takeover", Budget{Crash: 1, Duplicate: 1}},
	"NameAgain":        {"takeover", Budget{Crash: 2, Duplicate: 1}},
	"Deadline":         {"takeover", Budget{Duplicate: 1, Pause: 1}},
	"HandOver":         {"short", Budget{Short: 1}},
	"CarryIds":         {"cont", Budget{}},
	"CarrySignals":     {"cont", Budget{}},
	"StartLeft":        {"left", Budget{Crash: 1}},
	"DeadFiles":        {"deadtimer", Budget{Crash: 1}},
	"BlockClosed":      {"orphan", Budget{Crash: 1}},
	"UnblockByMessage": {"broken", Budget{Crash: 1}},
	"UnblockNames":     {"brokenonce", Budget{Crash: 1, Duplicate: 1}},
	"ClearFirst":       {"broken", Budget{}},
	"RebuildSends":     {"wipe", Budget{Wipe: 1}},
	"RebuildClosed":    {"wipechild", Budget{Crash: 1, Wipe: 1}},
	"Route":            {"timer", Budget{Pause: 1}},
	"Cursor":           {"timer", Budget{Pause: 1}},
	"SendFirst":        {"timer", Budget{Crash: 1}},
}
