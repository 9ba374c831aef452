package api

import (
	"strconv"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
)

// seedWorker is a worker as the registry clients of seed 004 read it.
type seedWorker struct {
	ID, URL       string
	Services      []string
	Load          int64
	LastHeartbeat int64 // seconds since 1970
	Status        string
}

func seedRegister(c *call) error {
	var body struct {
		ID, URL  string
		Services []string
		Load     int64
	}
	if err := c.readSeed(&body); err != nil {
		return err
	}
	_, err := c.engine.RegisterWorker(c.r.Context(),
		port.Worker{ID: body.ID, URL: body.URL, Services: body.Services, Load: body.Load})
	if err != nil {
		return err
	}
	return c.answerDone()
}

// seedHeartbeat takes a heartbeat. That of an unknown worker is answered like any other.
func seedHeartbeat(c *call) error {
	var body struct {
		ID, URL string
		Load    int64
	}
	if err := c.readSeed(&body); err != nil {
		return err
	}
	if _, err := c.engine.BeatWorker(c.r.Context(), body.ID, body.URL, body.Load); err != nil {
		return err
	}
	return c.answerDone()
}

// longestTTL is what a caller may ask for, in seconds: some ten years.
const longestTTL = 10 * 365 * 24 * 3600

// seedListWorkers lists workers with a heartbeat within ttl seconds. A ttl that is missing, 0 or bad
// is the default.
func seedListWorkers(c *call) error {
	ttl := port.WorkerTTL
	if given, err := strconv.Atoi(c.value("ttl")); err == nil && given > 0 {
		ttl = time.Duration(min(given, longestTTL)) * time.Second
	}
	found, err := c.engine.ListWorkers(c.r.Context(), c.value("service"), ttl)
	if err != nil {
		return err
	}
	workers := []seedWorker{}
	for _, worker := range found {
		workers = append(workers, seedWorkerOf(worker))
	}
	return c.answerSeed(workers)
}

func seedAllocate(c *call) error {
	service := c.value("service")
	if service == "" {
		return missing("the service")
	}
	worker, err := c.engine.AllocateWorker(c.r.Context(), service)
	if port.CodeOf(err) == port.NotFound {
		return failed500(port.NotFound, err.Error())
	} else if err != nil {
		return err
	}
	return c.answerSeed(seedWorkerOf(engine.OfferedWorker{Worker: worker, Online: true}))
}

func seedWorkerOf(w engine.OfferedWorker) seedWorker {
	shown := workerOf(w)
	return seedWorker{ID: shown.ID, URL: shown.URL, Services: shown.Services, Load: shown.Load,
		LastHeartbeat: shown.Heartbeat.Unix(), Status: shown.Status}
}
