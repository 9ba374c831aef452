package script

import "time"

// ShortenTurns has runs of the script compute for less time.
func (s *Script) ShortenTurns(to time.Duration) { s.turn = to }
