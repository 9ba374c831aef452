package main

import (
	"fmt"
	"strings"
)

// Names, for traces. While states are only visited, nobody reads them, and say makes none.

func (m *Model) say(parts ...string) string {
	if !m.telling {
		return ""
	}
	return strings.Join(parts, "")
}

var visitNames = [...]string{"visit A", "visit B", "visit C"}

func visitName(n int) string { return visitNames[n] }

func digit(n uint8) string { return "0123456789"[n : n+1] }

func where(run, generation uint8) (name string) {
	if run == 1 {
		name = "child "
	}
	if generation == 2 {
		name += "generation 2 "
	}
	return
}

func (m *Model) name(letter Letter) string {
	if !m.telling {
		return ""
	}
	name := where(letter.Run, letter.Generation)
	switch letter.Kind {
	case Resume:
		name += "resume"
	case Unblock:
		name += "unblock"
	case Start:
		name += "start " + digit(letter.Argument)
	case Mail:
		name += "signal " + digit(letter.Argument)
	case Fired:
		name += "fired " + digit(letter.Argument)
	case Task:
		name += "task " + digit(letter.Argument&7) + " attempt " + digit(letter.Argument>>3+1)
	}
	return "{" + name + "}"
}

func (m *Model) itemNames(generation uint8, set Items) string {
	if !m.telling {
		return ""
	}
	var names []string
	if set&itemStart != 0 {
		names = append(names, "start")
	}
	for command := range members(uint8(set & allResults >> 1)) {
		names = append(names, "result "+digit(command))
	}
	for mail := range members(uint8(set&allMail) >> 6) {
		names = append(names, "signal "+digit(mail))
	}
	return where(0, generation) + strings.Join(names, ", ")
}

func (m *Model) recordName(run, generation, count uint8, record *Record) string {
	if !m.telling {
		return ""
	}
	name := where(run, 0) + "record " + digit(generation) + "." + digit(count+1) + " (" + m.itemNames(1, record.Takes)
	if record.Again != 0 {
		name += "; takes again " + m.itemNames(1, record.Again)
	}
	for command := range members(record.Resumes) {
		name += "; resumes step " + digit(command)
	}
	name += " →"
	for command := range members(record.Emits) {
		name += [...]string{" task ", " step ", " timer ", " long timer ", " child "}[m.operation(run, generation, command)] + digit(command)
	}
	return name + ")"
}

// decision says what a visit that has looked will do.
func (m *Model) decision(v *Visit) string {
	if !m.telling {
		return ""
	}
	var parts []string
	if v.At == atLook {
		parts = append(parts, "the summary is from before the log")
	}
	if v.Send != [maxGenerations]uint8{} || v.Extra != 0 {
		parts = append(parts, "something taken is unsent")
	}
	if v.Takes != 0 {
		parts = append(parts, "news: "+m.itemNames(1, v.Takes))
	}
	if v.Resumes != 0 {
		parts = append(parts, "a dead author's step")
	}
	if v.Wait != 0 {
		parts = append(parts, "something is in living hands")
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, "; ")
}

func (m *Model) describe(s *State) (text string) {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.Token != 0 {
			text += fmt.Sprintf("run %d: generation %d, records %v, inbox [%s] [%s], blocked %d, due %v; ", i, r.Generation,
				r.Count, m.itemNames(1, r.Inbox[0]), m.itemNames(1, r.Inbox[1]), r.Blocked, r.Due)
		}
	}
	return text + fmt.Sprintf("%d messages left", s.Queued)
}
