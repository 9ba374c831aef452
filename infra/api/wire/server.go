package wire

import "time"

// Info says what a server is.
type Info struct {
	Version    string   `json:"version" doc:"The version of the server." example:"0.1.0"`
	Workflows  []string `json:"workflows" doc:"Names of the workflows that are registered."`
	Activities []string `json:"activities" doc:"Names of the activities that are registered."`
	Kinds      []string `json:"kinds,omitempty" doc:"Kinds of definitions that can be published; missing where none can."`
	Uptime     string   `json:"uptime,omitempty" doc:"How long the server has been up; missing where nothing stays up." example:"3h12m5s"`
	Backlog    *Backlog `json:"backlog,omitempty" doc:"Messages that are not handled yet; missing where they are not counted."`
}

// Backlog counts messages.
type Backlog struct {
	Ready    int `json:"ready" doc:"Messages that could be handled now." example:"0"`
	Delayed  int `json:"delayed" doc:"Messages that wait for their time: timers, retries." example:"3"`
	InFlight int `json:"inFlight" doc:"Messages that a function is handling, or died with: then they come again when their time is over." example:"1"`
}

// Health of a server.
type Health struct {
	Status string `json:"status" doc:"ok." example:"ok"`
}

// Diagnosis is what does not resume by itself. [Inspection] is what single runs wait for in vain.
type Diagnosis struct {
	Healthy     bool           `json:"healthy" doc:"There is nothing to do." example:"false"`
	Blocked     []BlockedRun   `json:"blocked" doc:"Runs that cannot advance, the latest start first."`
	MoreBlocked bool           `json:"moreBlocked,omitempty" doc:"There are further ones: the list of blocked runs has them all."`
	Overdue     []OverdueTimer `json:"overdue" doc:"Timers that should have fired and that nobody has fired, the earliest first; not always all of them."`
	Queues      *Queues        `json:"queues,omitempty" doc:"How the queues are; missing where nobody counts."`
	Writes      string         `json:"writes,omitempty" doc:"Why the last write to the store failed, a full disk for example; missing where it succeeded."`
	Rebuild     bool           `json:"rebuild,omitempty" doc:"A rebuild brings back lost messages; else the next start of the server does."`
	Unseen      []string       `json:"unseen,omitempty" doc:"What could not be looked at, and why."`
}

// BlockedRun is a run that cannot advance, and why.
type BlockedRun struct {
	Run      string    `json:"run" doc:"The run's id." example:"order-17"`
	Workflow string    `json:"workflow" doc:"The run's workflow." example:"order"`
	Reason   string    `json:"reason" doc:"Why, as a stable code." example:"unknown-workflow"`
	Message  string    `json:"message" doc:"What happened, where, and what to do."`
	Since    time.Time `json:"since" doc:"Since when." example:"2026-01-01T00:00:05Z"`
	Version  string    `json:"version,omitempty" doc:"The deployment under which it happened: another one is tried by itself." example:"0.1.0"`
}

// OverdueTimer is a long timer that should have fired.
type OverdueTimer struct {
	Run        string    `json:"run" doc:"The id of the run that waits for it." example:"order-17"`
	Generation int       `json:"generation" doc:"The run's generation." example:"1"`
	Seq        int64     `json:"seq" doc:"The number of the run's command." example:"3"`
	At         time.Time `json:"at" doc:"When it was due." example:"2026-01-01T00:00:05Z"`
}

// Inspection is what runs that are not finished wait for in vain: one page of them.
type Inspection struct {
	Findings []Finding `json:"findings" doc:"What was found, in no particular order."`
	Checked  int       `json:"checked" doc:"How many runs were read." example:"120"`
	Next     string    `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}

// Finding is something about one run that it may not recover from by itself.
type Finding struct {
	Run        string    `json:"run" doc:"The run's id." example:"order-17"`
	Workflow   string    `json:"workflow,omitempty" doc:"The run's workflow; missing if it cannot be read." example:"order"`
	Generation int       `json:"generation,omitempty" doc:"The run's generation." example:"1"`
	Kind       string    `json:"kind" doc:"What it is, as a stable code." example:"lost-activity"`
	Name       string    `json:"name,omitempty" doc:"The activity, step, child, signal or event." example:"charge"`
	Seq        int64     `json:"seq" doc:"The number of the run's command, where one is concerned." example:"3"`
	Since      time.Time `json:"since,omitzero" doc:"When it was due, or when it began to fail." example:"2026-01-01T00:00:05Z"`
	Attempt    int       `json:"attempt,omitempty" doc:"The number of the attempt." example:"2"`
	Failure    string    `json:"failure,omitempty" doc:"What the attempt before failed with, or why the run cannot be read."`
}

// Queues says how the queues are.
type Queues struct {
	Backlog
	Dead int `json:"dead" doc:"Messages that nobody could read, in the dead letter queue." example:"0"`
}

// Rebuilt says what one page of a rebuild did.
type Rebuilt struct {
	Open      int    `json:"open" doc:"Open runs that were looked at." example:"120"`
	Sent      int    `json:"sent" doc:"Messages that were sent again." example:"97"`
	Unblocked int    `json:"unblocked" doc:"Blocked runs that are tried again." example:"2"`
	Next      string `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}
