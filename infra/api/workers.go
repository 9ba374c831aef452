package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func workerEndpoints() []endpoint {
	url := queryParam("url", "The worker's URL.", matching(plainPattern), "http://localhost:9000")
	url.Required = true
	return []endpoint{
		{method: http.MethodPost, path: "/v1/workers", id: "register-worker", role: Worker,
			summary: "Register a worker",
			describe: "A worker offers services over HTTP: flows call them at URL/exec/SERVICE. " +
				"A worker that " +
				"registers with the URL of another one replaces it. The URL must be one that the " +
				"operator of " +
				"this system allows. Send a heartbeat each 5 s from then on.",
			body: wire.WorkerBody{}, answers: map[int]reply{
				http.StatusOK: {"It is registered, and online.", wire.Worker{}, ""}},
			fails: []port.Code{port.Conflict}, serve: registerWorker},
		{method: http.MethodPost, path: "/v1/workers/heartbeat", id: "heartbeat-worker",
			role:    Worker,
			summary: "Say that a worker is there",
			describe: "A worker without a heartbeat for 15 s, unless the server says otherwise, " +
				"is offline.",
			body: wire.HeartbeatWorkerBody{}, answers: map[int]reply{
				http.StatusOK: {"Whether the worker is registered.", wire.HeardWorker{}, ""}},
			serve: heartbeatWorker},
		{method: http.MethodGet, path: "/v1/workers", id: "list-workers", summary: "List workers",
			describe: "In the order of registration. Calls of a service go to its workers in " +
				"this order, or to " +
				"the one with the least load first.",
			params: []*huma.Param{
				queryParam("service", "Only workers that offer this service.",
					matching(plainPattern), "transform"),
				queryParam("online", "true: only workers that are online.",
					&huma.Schema{Type: huma.TypeBoolean}, true)},
			answers: map[int]reply{http.StatusOK: {"The workers.", wire.Workers{}, ""}},
			serve:   listWorkers},
		{method: http.MethodDelete, path: "/v1/workers", id: "remove-worker", role: Worker,
			summary: "Remove a worker",
			describe: "It gets no calls from then on. Workers do so when they stop. The process " +
				"itself is not " +
				"stopped.",
			params:  []*huma.Param{url},
			answers: map[int]reply{http.StatusNoContent: {"It is removed.", nil, ""}},
			fails:   []port.Code{port.NotFound}, serve: removeWorker},
	}
}

func registerWorker(c *call) error {
	var body wire.WorkerBody
	if err := c.read(&body); err != nil {
		return err
	}
	worker, err := c.engine.RegisterWorker(c.r.Context(),
		port.Worker{ID: body.ID, URL: body.URL, Services: body.Services, Load: body.Load})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, workerOf(engine.OfferedWorker{Worker: worker, Online: true}))
}

func heartbeatWorker(c *call) error {
	var body wire.HeartbeatWorkerBody
	if err := c.read(&body); err != nil {
		return err
	}
	if body.ID == "" && body.URL == "" {
		return invalid("a heartbeat must have the worker's url or its id")
	}
	known, err := c.engine.BeatWorker(c.r.Context(), body.ID, body.URL, body.Load)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, wire.HeardWorker{Known: known})
}

func listWorkers(c *call) error {
	online, err := c.flag("online")
	if err != nil {
		return err
	}
	found, err := c.engine.ListWorkers(c.r.Context(), c.value("service"), 0)
	if err != nil {
		return err
	}
	answer := wire.Workers{Workers: []wire.Worker{}}
	for _, worker := range found {
		if worker.Online || !online {
			answer.Workers = append(answer.Workers, workerOf(worker))
		}
	}
	return c.answer(http.StatusOK, answer)
}

func removeWorker(c *call) error {
	url := c.value("url")
	if url == "" {
		return invalid("parameter url is missing: it names the worker to remove")
	}
	if err := c.engine.RemoveWorker(c.r.Context(), url); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func workerOf(w engine.OfferedWorker) wire.Worker {
	status := wire.WorkerOffline
	if w.Online {
		status = wire.WorkerOnline
	}
	return wire.Worker{ID: w.ID, URL: w.URL, Services: w.Services, Load: w.Load, Status: status,
		Heartbeat: w.Heartbeat, Registered: w.Registered}
}
