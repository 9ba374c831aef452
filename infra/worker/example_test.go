package worker_test

import (
	"context"
	"log"
	"os"
	"os/signal"

	"github.com/reprise-run/reprise/infra/worker"
)

// A whole worker: the program offers the service double until an interrupt.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w := worker.New(worker.Config{Registry: "http://127.0.0.1:7717", URL: "http://127.0.0.1:9000"})
	worker.Handle(w, "double", func(_ context.Context, n int, _ struct{}) (int, error) {
		return 2 * n, nil
	})
	if err := w.Run(ctx); err != nil {
		log.Print(err)
	}
}
