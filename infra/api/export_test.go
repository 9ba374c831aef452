package api

import "github.com/reprise-run/reprise/core/engine"

// Over has the handler ask another engine: making a handler takes longer than most that is asked of it.
func (h *Handler) Over(e *engine.Engine) { h.engine, h.config.Engine = e, e }

// ShownParams is what tests ask for the params of a task.
var ShownParams = shownParams
