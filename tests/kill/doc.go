// Package kill holds a test that kills the server again and again, at random moments, while orders are under way, and then
// holds all that is left against each other: what callers were told, the logs, and what activities did to the world.
//
// It is behind the build tag kill: make test-kill. These variables change it:
//
//	KILL_SEED    what is done, and when, as far as a machine repeats it; each run prints its own
//	KILL_RUNS    how many orders (1000)
//	KILL_ROUNDS  how many kills (20)
package kill
