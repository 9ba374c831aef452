// Package architecture holds the tests of what must not come into the code: imports against the direction of the layers,
// modules that nobody decided on, and, in the pure core, whatever would make a replay differ from the first run.
package architecture
