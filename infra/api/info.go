package api

import (
	"net/http"
	"time"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func serverEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/v1/info", id: "get-info", role: Read,
			summary: "What this server is",
			answers: map[int]reply{http.StatusOK: {"Its version, what is registered, and how " +
				"busy it is.", wire.Info{}, ""}},
			serve: getInfo},
		{method: http.MethodGet, path: "/v1/health", id: "get-health",
			summary:  "Whether this server can do its work",
			describe: "It may be asked without a token.",
			answers:  map[int]reply{http.StatusOK: {"It can.", wire.Health{}, ""}},
			open:     true,
			serve:    getHealth},
	}
}

func getInfo(c *call) error {
	info := &wire.Info{Version: c.config.Version, Workflows: c.engine.Workflows(),
		Activities: c.engine.Activities(), Kinds: c.engine.Kinds()}
	if info.Workflows == nil {
		info.Workflows = []string{}
	}
	if info.Activities == nil {
		info.Activities = []string{}
	}
	if c.config.Uptime != nil {
		info.Uptime = c.config.Uptime().Round(time.Second).String()
	}
	if c.config.Backlog != nil {
		info.Backlog = &wire.Backlog{}
		info.Backlog.Ready, info.Backlog.Delayed, info.Backlog.InFlight = c.config.Backlog()
	}
	return c.answer(http.StatusOK, info)
}

func getHealth(c *call) error {
	if c.config.Healthy != nil {
		if err := c.config.Healthy(c.r.Context()); err != nil {
			return &port.Error{Code: port.Unavailable,
				Message: "the server is up, but cannot do its work: " + err.Error()}
		}
	}
	return c.answer(http.StatusOK, wire.Health{Status: "ok"})
}
