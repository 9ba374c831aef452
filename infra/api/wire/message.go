package wire

import "github.com/reprise-run/reprise/core/history"

// Accepted is the answer to a message: it is durable.
type Accepted struct {
	ID    string `json:"id" doc:"The id of the message: repeating it with this id is safe." example:"approve-1"`
	Stamp int64  `json:"stamp" doc:"Its place in the order of messages: give it as after with the next one." example:"1767225600000000000"`
	Hint  string `json:"hint,omitempty" doc:"What may be wrong with a signal, though it was accepted."`
}

// UpdateAnswer is how far an update has come.
type UpdateAnswer struct {
	ID      string              `json:"id" doc:"The id of the update: repeat it with this id to ask again." example:"add-1"`
	Stamp   int64               `json:"stamp" doc:"Its place in the order of messages: give it as after with the next one; 0 where the run has ended." example:"1767225600000000000"`
	Phase   history.UpdatePhase `json:"phase" doc:"How far it has come; empty before the run has looked." enum:",accepted,rejected,completed" example:"completed"`
	Result  history.Payload     `json:"result,omitempty" doc:"What the workflow answered." example:"3"`
	Failure *history.Failure    `json:"failure,omitempty" doc:"Why it was rejected, or what its handler failed with."`
	Large   map[string]Large    `json:"large,omitempty" doc:"The result or the failure, where it is too long for an answer and left out: the same request with after gives it in pieces."`
}

// UnreadSignal is a signal that the run's code has not taken.
type UnreadSignal struct {
	Name    string `json:"name" doc:"The signal's name." example:"approve"`
	ID      string `json:"id" doc:"The id of the message." example:"approve-1"`
	Unknown bool   `json:"unknown" doc:"The run's code has not asked for a signal of this name so far."`
}
