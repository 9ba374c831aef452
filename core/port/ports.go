package port

// Ports are what the engine needs of the world. core/port/porttest holds the suite that every
// adapter passes.
type Ports struct {
	Runs      Runs
	Directory Directory
	Due       Due
	Tasks     Tasks
	Queue     Queue
	// Catalog has published definitions. Nil: there are none.
	Catalog Catalog
	// Workers has the workers that offer services over HTTP. Nil: there are none.
	Workers Workers
	Clock   Clock
	// Authors says who may still be alive.
	Authors Authors
	// NewID gives an id that nobody can guess and nobody has had: 128 random bits, as text of
	// [a-z0-9].
	NewID func() string
	// Together: queues, and what is filed without [Item.Durable], die with this process, and
	// Engine.Rebuild runs before anything else at its next start. Then filing first and resuming
	// after is as sure as the other way round, and no message needs to carry an item (PROTOCOL.md
	// rule 1).
	Together bool
	// Forget takes timers back that nobody waits for any more: from the queue, and from Due. Those
	// that it does not find fire in vain, as all do without it (nil).
	Forget func(timers []DueTimer)
}
