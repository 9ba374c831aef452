package history

// Bytes is how long the values in a record are: inputs, results, details and messages
// of failures. Its checkpoint does not count.
func (rec *Record) Bytes() (size int) {
	for _, event := range rec.Events {
		size += EventBytes(event)
	}
	for _, command := range rec.Commands {
		size += CommandBytes(command)
	}
	return size
}

// EventBytes is how long the values in an event are. Nil has none.
func EventBytes(event Event) int {
	switch event := event.(type) {
	case *Started:
		size := len(event.Input) + event.Attributes.bytes()
		for _, signal := range event.Signals {
			size += len(signal.Input)
		}
		for _, letter := range event.Letters {
			size += EventBytes(letter)
		}
		return size
	case *ActivityResolved:
		return len(event.Result) + event.Failure.Bytes()
	case *ChildResolved:
		return len(event.Result) + event.Failure.Bytes()
	case *SignalReceived:
		return len(event.Input)
	case *UpdateReceived:
		return len(event.Input)
	}
	return 0
}

// CommandBytes is how long the values in a command are. Nil has none.
func CommandBytes(command Command) int {
	switch command := command.(type) {
	case *ScheduleActivity:
		return len(command.Input)
	case *StartChild:
		return len(command.Input)
	case *ContinueAsNew:
		return len(command.Input)
	case *CompleteRun:
		return len(command.Result)
	case *FailRun:
		return command.Failure.Bytes()
	case *CancelRun:
		return command.Failure.Bytes()
	case *RespondUpdate:
		return len(command.Result) + command.Failure.Bytes()
	case *UpsertAttributes:
		return command.Attributes.bytes()
	}
	return 0
}

// Bytes is how long the messages and the details of a failure and its causes are. Nil has none.
func (f *Failure) Bytes() (size int) {
	for ; f != nil; f = f.Cause {
		size += len(f.Message) + len(f.Stack) + len(f.Details)
	}
	return size
}

func (a Attributes) bytes() (size int) {
	for _, value := range a { // order-insensitive: a sum
		size += len(value)
	}
	return size
}
