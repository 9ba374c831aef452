package boot

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/wire"
)

const (
	// longestWait is less than API Gateway waits (29 s).
	longestWait = 20 * time.Second
	// longestAnswer is half of what Lambda takes (6 MB): an answer is a JSON text within a JSON text, where each quote is two.
	longestAnswer = 3<<20 - 64<<10
)

// apiHandler is functions/api: the same handler as that of the development server.
func (s *System) apiHandler() (any, error) {
	handler, err := api.New(api.Config{Engine: s.Engine, Version: s.Version, LongestWait: longestWait, LongestAnswer: longestAnswer, Memory: s.Memory, Rebuild: true,
		Queues: s.queues, Logger: s.Logger, Seal: s.Seal, Access: s.Access, Seed004: true})
	if err != nil {
		return nil, err
	}
	return gateway{handler}.Invoke, nil
}

func (s *System) queues(ctx context.Context) (wire.Queues, error) {
	ready, delayed, inFlight, err := s.Queue.Backlog(ctx)
	dead, noDead := s.Queue.Dead(ctx)
	return wire.Queues{Backlog: wire.Backlog{Ready: ready, Delayed: delayed, InFlight: inFlight},
		Dead: dead}, errors.Join(err, noDead)
}
