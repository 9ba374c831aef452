package wire

import "time"

// WorkerBody is the body of a worker's registration.
type WorkerBody struct {
	ID       string   `json:"id" minLength:"1" maxLength:"100" doc:"Names the process: another one for each start of it." example:"worker-1"`
	URL      string   `json:"url" minLength:"1" maxLength:"500" doc:"Where the worker is called, at URL/exec/SERVICE." example:"http://localhost:9000"`
	Services []string `json:"services" doc:"Names of the services that it offers: 1 to 100."`
	Load     int64    `json:"load,omitempty" minimum:"0" doc:"How busy it is: the number of calls that it performs, as a rule." example:"0"`
}

// HeartbeatWorkerBody is the body of a worker's heartbeat.
type HeartbeatWorkerBody struct {
	ID   string `json:"id,omitempty" maxLength:"100" doc:"The worker's id. It counts where no worker has the URL." example:"worker-1"`
	URL  string `json:"url,omitempty" maxLength:"500" doc:"The worker's URL." example:"http://localhost:9000"`
	Load int64  `json:"load,omitempty" minimum:"0" doc:"How busy it is." example:"3"`
}

// HeardWorker is the answer to a heartbeat.
type HeardWorker struct {
	Known bool `json:"known" doc:"A worker with this URL or id is registered. If not, register again." example:"true"`
}

// Worker is a registered worker.
type Worker struct {
	ID         string    `json:"id" doc:"Names the process." example:"worker-1"`
	URL        string    `json:"url" doc:"Where it is called." example:"http://localhost:9000"`
	Services   []string  `json:"services" doc:"Names of the services that it offers."`
	Load       int64     `json:"load" doc:"What its last heartbeat said." example:"3"`
	Status     string    `json:"status" enum:"online,offline" doc:"Offline: its last heartbeat is too old, and it gets no calls." example:"online"`
	Heartbeat  time.Time `json:"heartbeat" doc:"When it was last heard of." example:"2026-01-01T00:00:05Z"`
	Registered time.Time `json:"registered" doc:"When a worker with this URL first came." example:"2026-01-01T00:00:00Z"`
}

// Statuses of workers.
const (
	WorkerOnline  = "online"
	WorkerOffline = "offline"
)

// Workers is a list of workers.
type Workers struct {
	Workers []Worker `json:"workers" doc:"In the order of registration."`
}
