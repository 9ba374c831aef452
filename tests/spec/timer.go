package main

// timer is functions/timer: it hands what is due soon to the queue, a page at a time. See core/engine/timer.go.
func (m *Model) timer(s *State, add adder) {
	f := &s.Timer
	t := *s
	switch {
	case f.At == idle:
		if s.Clock == 0 || s.Clock == 2 && !m.rules.Cursor {
			return
		}
		for run := range s.Runs {
			for g, due := range s.Runs[run].Due {
				if due != 0 {
					t.Timer = Function{atSend, Letter{Fired, uint8(run), uint8(g + 1), due}}
					if !m.rules.SendFirst {
						t.Timer.At = atDelete
					}
					add(t, false, "functions/timer reads the bucket")
					return
				}
			}
		}
	case f.At == atSend:
		var letters []Letter
		for command := range members(f.Argument) {
			letters = append(letters, Letter{Fired, f.Run, f.Generation, command})
		}
		m.sendTogether(s, letters, func(t *State, failed bool) {
			t.Timer.At = atDelete
			if failed && m.rules.PartialSend || !m.rules.SendFirst {
				t.Timer = Function{}
			}
		}, "functions/timer", add)
	case f.At == atDelete:
		t.Runs[f.Run].Due[f.Generation-1] &^= f.Argument
		t.Timer = Function{}
		if !m.rules.SendFirst {
			t.Timer = *f
			t.Timer.At = atSend
		}
		add(t, false, "functions/timer deletes the items")
	}
}
