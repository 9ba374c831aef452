package script

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/quickjs"
)

// Limits of one script's sandbox. A script that reaches one fails its activation, and the run is
// blocked: another version of the script can take it up.
const (
	// MaxMemory is how much a script may hold, in bytes.
	MaxMemory = 32 << 20
	// MaxTurn is how long a script may compute before it waits for something.
	MaxTurn = 5 * time.Second
)

const (
	// hardMemory is where the JavaScript engine itself refuses. A script can catch that error, so it
	// lies above MaxMemory, which a script cannot catch.
	hardMemory = MaxMemory + MaxMemory/2
	// afterTurn is how long an interrupted script may say where it was.
	afterTurn = 50 * time.Millisecond
	// firstLine of the prelude: a stack tells its frames from the script's, which has fewer lines.
	firstLine = MaxSource + 1
	// strict has global code compiled in strict mode.
	strict = 1 << 3
)

//go:embed prelude.js
var preludeSource string

// program is bytecode.
type program struct{ prelude, script []byte }

// compile makes a program of a script. Its error is of type *quickjs.Error if the script is at fault.
func compile(script string, flags int) (made program, err error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, vm.Close()) }()
	vm.SetMemoryLimit(hardMemory)
	if made.script, err = vm.Compile(script, flags); err != nil {
		return made, err
	}
	made.prelude, err = vm.Compile(strings.Repeat("\n", firstLine-1)+preludeSource, quickjs.EvalGlobal)
	return made, err
}

// sandbox is the JavaScript engine of one run. It is used by one goroutine at a time.
type sandbox struct {
	vm    *quickjs.VM
	entry map[string]quickjs.Value // functions of the prelude that Go calls
	bytes int
}

// host answers what the prelude asks. An error is thrown at the place of the call.
type host func(op, argument string) (answer string, err error)

// newSandbox makes the engine of a run, with the prelude, and runs the script's top level. A turn is
// how long the script may compute at a time.
func newSandbox(code program, turn time.Duration, answer host) (s *sandbox, err error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("make a JavaScript engine: %w", err)
	}
	s = &sandbox{vm: vm, entry: map[string]quickjs.Value{}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	vm.SetMemoryLimit(hardMemory)
	if err := vm.SetEvalTimeout(turn); err != nil {
		return nil, err
	}
	if err := s.begin(code.prelude, answer); err != nil {
		return nil, fmt.Errorf("start the prelude: %w", err)
	}
	top, err := vm.EvalBytecodeValue(code.script)
	if err != nil {
		return nil, err
	}
	top.Free()
	s.bytes = s.measure()
	return s, nil
}

// begin runs the prelude, which gets the host and gives the functions that Go calls.
func (s *sandbox) begin(prelude []byte, answer host) error {
	made, err := s.vm.EvalBytecodeValue(prelude)
	if err != nil {
		return err
	}
	defer made.Free()
	const name = "host"
	err = s.vm.RegisterHostFunc(name, func(args []any) (any, error) {
		op, _ := args[0].(string)
		argument, _ := args[1].(string)
		return answer(op, argument)
	})
	if err != nil {
		return err
	}
	global := s.vm.GlobalObject()
	defer global.Free()
	function, err := s.property(global, name)
	if err != nil {
		return err
	}
	defer function.Free()
	entry, err := made.CallValue(quickjs.UndefinedValue, function, strings.Join(builtins, " "))
	if err != nil {
		return err
	}
	defer entry.Free()
	for _, name := range []string{
		"start", "settle", "handle", "validate", "query", "conditions", "look", "settled", "probe",
	} {
		if s.entry[name], err = s.property(entry, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *sandbox) property(of quickjs.Value, name string) (quickjs.Value, error) {
	atom, err := s.vm.NewAtom(name)
	if err != nil {
		return quickjs.Value{}, err
	}
	return of.GetPropertyValue(atom)
}

// call calls a function of the prelude. What the script does because of it waits for jobs.
func (s *sandbox) call(name string, args ...any) (any, error) {
	return s.entry[name].Call(quickjs.UndefinedValue, args...)
}

// jobs runs the script until it waits. [errInterrupted] if its time is over.
func (s *sandbox) jobs() error {
	done, err := s.vm.ExecutePendingJobs()
	s.bytes = s.measure()
	if isInterrupted(err) || err != nil && done >= mostJobs {
		return errInterrupted
	}
	return err
}

// mostJobs is after how many jobs the engine stops: a script that waits for nothing has made them.
const mostJobs = 1 << 20

var errInterrupted = errors.New("the script computes without end")

func isInterrupted(err error) bool {
	var thrown *quickjs.Error
	return errors.As(err, &thrown) && thrown.Name == "InternalError" && thrown.Message == "interrupted"
}

// Bytes is how much memory the script holds.
func (s *sandbox) Bytes() int { return s.bytes }

// Close gives the memory back. The sandbox is of no more use.
func (s *sandbox) Close() {
	for _, f := range s.entry { // order-insensitive: each is freed
		f.Free()
	}
	_ = s.vm.Close()
}

// measure finds how much memory the engine holds, to 16 KB. The engine does not tell, but it refuses
// what its limit does not allow. The search begins at what the engine held before.
func (s *sandbox) measure() int {
	defer s.vm.SetMemoryLimit(hardMemory)
	low, high := s.bytes, s.bytes
	for step := grain; s.refuses(high); step *= 2 {
		low, high = high, min(high+step, hardMemory)
	}
	for step := grain; low == high || low > 0 && !s.refuses(low); step *= 2 {
		high, low = low, max(low-step, 0)
	}
	for high-low > grain {
		if middle := (low + high) / 2; s.refuses(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// grain is how exactly memory is measured, in bytes.
const grain = 16 << 10

// refuses says whether the engine holds more than a limit.
func (s *sandbox) refuses(limit int) bool {
	if limit >= hardMemory {
		return false
	}
	s.vm.SetMemoryLimit(uintptr(limit))
	_, err := s.call("probe")
	return err != nil
}
