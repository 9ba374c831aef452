package main

import "math/bits"

// The workflows of the model: a list of instructions, played over the log of a generation. Where a run stands is a pure
// function of its log, as in the engine's core.

type Operation uint8

const (
	EmitTask    Operation = iota // the next command, numbered in order of the Emit instructions
	EmitStep                     // an inline step
	EmitTimer                    // short: a delayed message
	EmitLong                     // long: an item in a due bucket
	EmitChild                    // it outlives its parent
	Await                        // Argument: the command whose result it waits for
	AwaitSignal                  // one signal, in order of arrival
	AwaitEither                  // a signal, or the result of command Argument
	Cancel                       // Argument: a timer
	ContinueAsNew
	End
)

type Instruction struct {
	Operation Operation
	Argument  uint8
}

// Progress is where a generation stands.
type Progress struct {
	emitted, resolved, cancelled uint8 // sets of commands
	signals                      int   // in the log, not yet taken by the code
	next                         int   // instruction
	started, closed              bool
	end                          Operation // how it closed
}

func (p *Progress) pending() uint8 { return p.emitted &^ p.resolved &^ p.cancelled }

func (m *Model) code(run, generation uint8) []Instruction {
	return m.scenario.Code[run][generation-1]
}

func (m *Model) operation(run, generation, command uint8) Operation {
	return m.operations[run][generation-1][command]
}

// operationsOf lists the commands of a generation's code.
func operationsOf(code []Instruction) (commands [maxCommands]Operation) {
	number := 0
	for _, instruction := range code {
		if instruction.Operation <= EmitChild {
			commands[number] = instruction.Operation
			number++
		}
	}
	return
}

// these returns the commands of the set that are of one operation.
func (m *Model) these(run, generation, set uint8, operation Operation) (found uint8) {
	for rest := set; rest != 0; rest &= rest - 1 {
		if command := lowest(rest); m.operation(run, generation, command) == operation {
			found |= 1 << command
		}
	}
	return
}

// steps returns those commands of the set that are inline steps; messages returns the others, which are sent.
func (m *Model) steps(run, generation, set uint8) uint8 {
	return m.these(run, generation, set, EmitStep)
}

func (m *Model) messages(run, generation, set uint8) uint8 {
	return set &^ m.steps(run, generation, set)
}

// feed lets the code see the events of one record and run until it waits.
func (m *Model) feed(p *Progress, run, generation uint8, events Items) {
	p.started = p.started || events&itemStart != 0
	p.resolved |= uint8(events&allResults>>1) & p.emitted
	p.signals += bits.OnesCount8(uint8(events & allMail))
	if !p.started || p.closed {
		return
	}
	code := m.code(run, generation)
	for ; ; p.next++ {
		instruction := code[p.next]
		resolved := p.resolved>>instruction.Argument&1 != 0
		switch instruction.Operation {
		case Await:
			if !resolved {
				return
			}
		case AwaitSignal:
			if p.signals == 0 {
				return
			}
			p.signals--
		case AwaitEither:
			if p.signals > 0 {
				p.signals--
			} else if !resolved {
				return
			}
		case Cancel:
			p.cancelled |= 1 << instruction.Argument &^ p.resolved
		case ContinueAsNew, End: // which ends all that is pending, but for children
			p.end, p.closed = instruction.Operation, true
			p.cancelled |= p.pending() &^ m.these(run, generation, p.pending(), EmitChild)
			return
		default:
			p.emitted |= p.emitted + 1 // the lowest that is not there
		}
	}
}

// play returns where a generation stands after its first count records.
func (m *Model) play(s *State, run, generation, count uint8) (p Progress) {
	if generation > 1 && m.rules.CarrySignals {
		earlier := m.play(s, run, generation-1, s.Runs[run].Count[generation-2])
		p.signals = earlier.signals
	}
	for _, record := range s.Runs[run].Log[generation-1][:count] {
		m.feed(&p, run, generation, record.Takes)
	}
	return
}

func (m *Model) now(s *State, run, generation uint8) Progress {
	return m.play(s, run, generation, s.Runs[run].Count[generation-1])
}

// closed says whether the run has ended for good.
func (m *Model) closed(s *State, run uint8) bool {
	r := &s.Runs[run]
	if r.Token == 0 {
		return false
	}
	p := m.now(s, run, r.Generation)
	return p.closed && p.end == End
}
