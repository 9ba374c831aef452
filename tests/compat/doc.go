// Package compat replays recorded logs with today's code: see README.md.
package compat
