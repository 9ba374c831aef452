package main

// task is functions/task: it executes one attempt, files the result, resumes. See core/engine/task.go.
func (m *Model) task(s *State, add adder) {
	t := *s
	w := &t.Worker
	command, attempt := w.Argument&7, w.Argument>>3
	r := &t.Runs[w.Run]
	next := func(at uint8, what string) {
		w.At = at
		add(t, false, m.say("worker ", what, " ", digit(command)))
	}
	switch w.At {
	case atStep:
		if r.Used>>command&1 != 0 { // completed from outside by its token: nobody does it again, but its caller asks again
			next(atResume, "finds the token used of task")
			return
		}
		if s.Budget.Fail > 0 {
			u := t
			u.Budget.Fail--
			u.Worker.At = atSend
			add(u, false, m.say("worker fails at task ", digit(command)))
		}
		m.carriedOut(&t, w.Run, w.Generation, command)
		next(atFile, "carries out task")
	case atSend:
		t.send(Letter{Task, w.Run, w.Generation, command | (attempt+1)<<3}, 0)
		next(atAcknowledge, "sends the next attempt of task")
	case atFile:
		if s.Budget.Lost > 0 { // filed or not, it is not known: a resume carries it
			for _, filed := range [2]bool{false, true} {
				u := t
				u.Budget.Lost--
				if filed {
					m.file(&u, w.Run, w.Generation, itemResult<<command)
				}
				u.send(Letter{Fired, w.Run, w.Generation, command}, 0)
				u.Worker.At = atAcknowledge
				add(u, true, m.say("FAULT worker gets no answer, and sends the resume that carries the result of task ", digit(command)))
			}
		}
		there := m.file(&t, w.Run, w.Generation, itemResult<<command)
		if m.scenario.Token {
			r.Used |= 1 << command
		}
		if there && !m.rules.ResumeAgain {
			next(atAcknowledge, "finds filed the result of task")
			return
		}
		next(atResume, "files the result of task")
	case atResume:
		t.resume(w.Run)
		next(atAcknowledge, "resumes the run for task")
	case atAcknowledge:
		if i := t.heldBy(holderWorker); i >= 0 {
			t.remove(i)
		}
		t.Worker = Function{}
		add(t, false, m.say("worker acknowledges task ", digit(command)))
	}
}

// carriedOut: without any fault, no step is run twice.
func (m *Model) carriedOut(t *State, run, generation, command uint8) {
	r := &t.Runs[run]
	if m.operation(run, generation, command) == EmitStep && !m.faulty(t) && r.Done[generation-1]>>command&1 != 0 {
		t.Bad = badAgain
	}
	r.Done[generation-1] |= 1 << command
}
