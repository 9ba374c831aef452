// Package kill holds a test that kills the server again and again, at random moments, while orders are under way, and then
// holds all that is left against each other: what callers were told, the logs, and what activities did to the world.
//
// A flow with a node of each kind runs on such a server, too, with HTTP workers. The server is
// killed at each of the flow's nodes, and at random moments. The shared state at the end is that of
// a run without kills, and no call of a worker comes again once its answer is stored. So does the
// demonstration of seed 004, with a client and a worker that know nothing of this project.
//
// It is behind the build tag kill: make test-kill. These variables change it:
//
//	KILL_SEED    what is done, and when, as far as a machine repeats it; each run prints its own
//	KILL_RUNS    how many orders (1000)
//	KILL_FLOWS   how many runs of the flow (60)
//	KILL_ROUNDS  how many kills (20)
package kill
