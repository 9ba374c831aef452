package scheduler_test

import (
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/workflow"
)

func positive(n int) error {
	if n <= 0 {
		return errors.New("not positive")
	}
	return nil
}

func messages() []registry.Definition {
	return []registry.Definition{
		define("buffered", func(ctx Ctx) ([]string, error) {
			if _, err := workflow.Execute(ctx, actA, 1); err != nil {
				return nil, err
			}
			var texts []string
			for range 3 {
				text, err := workflow.AwaitSignal(ctx, note)
				if err != nil {
					return nil, err
				}
				workflow.Log(ctx, "took "+text)
				texts = append(texts, text)
			}
			return texts, nil
		}),
		define("handlers", func(ctx Ctx) (int, error) {
			sum := 0
			workflow.HandleSignal(ctx, note, func(ctx Ctx, text string) error {
				workflow.Log(ctx, "signal "+text)
				if text == "bad" {
					return errBroken
				}
				if text == "panic" {
					panic("in a handler")
				}
				n, err := workflow.Execute(ctx, actA, len(text))
				sum += n
				return err
			})
			workflow.HandleUpdate(ctx, add, func(ctx Ctx, n int) (int, error) {
				if n == 13 {
					panic("unlucky")
				}
				if n == 14 {
					return 0, errBroken
				}
				before := sum
				got, err := workflow.Execute(ctx, actB, n)
				sum += got
				return sum - before, err
			}, positive)
			workflow.HandleQuery(ctx, total, func(plus int) (int, error) { return sum + plus, nil })
			err := workflow.Sleep(ctx, time.Hour)
			return sum, err
		}),
		// Registers its handlers only after a pause.
		define("late-handlers", func(ctx Ctx) (int, error) {
			sum := 0
			workflow.Yield(ctx)
			workflow.HandleSignal(ctx, note, func(ctx Ctx, text string) error { workflow.Log(ctx, "signal "+text); return nil })
			workflow.HandleUpdate(ctx, add, func(_ Ctx, n int) (int, error) { sum += n; return sum, nil })
			err := workflow.Sleep(ctx, time.Hour)
			return sum, err
		}),
		define("queries", func(ctx Ctx) (nothing, error) {
			n := 40
			workflow.HandleQuery(ctx, total, func(plus int) (int, error) { return n + plus, nil })
			workflow.HandleQuery(ctx, situation, func(how string) (string, error) {
				switch how {
				case "error":
					return "", errBroken
				case "panic":
					panic("in a query")
				case "goexit":
					goexit()
				case "effects":
					_, err := workflow.Execute(ctx, actA, 1)
					return "", err
				}
				return "fine", nil
			})
			workflow.PublishState(ctx, "waiting")
			_, err := workflow.AwaitSignal(ctx, note)
			n++
			workflow.Log(ctx, "went on")
			return nothing{}, err
		}),
		define("two-signals", func(ctx Ctx) ([]string, error) {
			first, err := workflow.AwaitSignal(ctx, note)
			if err != nil {
				return nil, err
			}
			second, err := workflow.AwaitSignal(ctx, note)
			return []string{first, second}, err
		}),
		define("stops", func(ctx Ctx) (string, error) {
			workflow.HandleUpdate(ctx, add, func(ctx Ctx, n int) (int, error) { return workflow.Execute(ctx, actA, n) })
			text, err := workflow.AwaitSignal(ctx, note)
			if text == "fail" {
				err = errBroken
			}
			return text, err
		}),
		define("signal-order", func(ctx Ctx) ([]string, error) {
			one, two := workflow.Receive(ctx, note), workflow.Receive(ctx, note)
			first, err := one.Await(ctx)
			if err != nil {
				return nil, err
			}
			second, err := two.Await(ctx)
			return []string{first, second}, err
		}),
	}
}

// receivers wait for signals in futures.
func receivers() []registry.Definition {
	// taken logs what a wait for a signal gave.
	taken := func(ctx Ctx, who string, text string, err error) {
		workflow.Log(ctx, who+" has "+text, "err", err)
	}
	return []registry.Definition{
		// The future loses the race. What it would have taken is the next receiver's.
		define("receive-loses", func(ctx Ctx) (nothing, error) {
			lost := workflow.Receive(ctx, note)
			first, err := workflow.Race(ctx, workflow.Timer(ctx, time.Minute), lost)
			workflow.Log(ctx, "the race", "first", first, "err", err, "there", lost.Done())
			text, err := workflow.AwaitSignal(ctx, note)
			taken(ctx, "the next wait", text, err)
			text, err = lost.Await(ctx)
			taken(ctx, "the first future", text, err)
			return nothing{}, err
		}),
		define("receive-wins", func(ctx Ctx) (nothing, error) {
			won := workflow.Receive(ctx, note)
			first, err := workflow.Race(ctx, won, workflow.Timer(ctx, time.Minute))
			workflow.Log(ctx, "the race", "first", first, "err", err)
			if err := execute(ctx, actA); err != nil {
				return nothing{}, err
			}
			text, err := won.Await(ctx)
			taken(ctx, "the winner", text, err)
			return nothing{}, err
		}),
		// Two units wait: the first one's wait is canceled in the activation that brings it a signal.
		define("receive-canceled", func(ctx Ctx) (nothing, error) {
			scope, cancel := workflow.WithCancel(ctx)
			inScope := workflow.Receive(ctx, note) // made outside of the scope
			wait := func(scope Ctx, who string, f func(Ctx) (string, error)) func(Ctx) (nothing, error) {
				return func(ctx Ctx) (nothing, error) {
					text, err := f(ctx)
					taken(ctx, who, text, err)
					return nothing{}, nil
				}
			}
			first := workflow.Go(scope, wait(scope, "first", inScope.Await))
			second := workflow.Go(ctx, wait(ctx, "second", func(ctx Ctx) (string, error) { return workflow.AwaitSignal(ctx, note) }))
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return nothing{}, err
			}
			cancel()
			_, err := workflow.All(ctx, first, second)
			return nothing{}, err
		}),
		define("receive-within", func(ctx Ctx) (nothing, error) {
			for range 3 {
				text, received, err := workflow.ReceiveWithin(ctx, note, time.Minute)
				workflow.Log(ctx, "within a minute", "text", text, "received", received, "err", err)
				if err != nil {
					return nothing{}, err
				}
			}
			text, received, err := workflow.TryReceive(ctx, note)
			workflow.Log(ctx, "at once", "text", text, "received", received, "err", err)
			return nothing{}, err
		}),
		define("selector", func(ctx Ctx) (nothing, error) {
			over := false
			s := workflow.NewSelector()
			workflow.AddReceive(s, note, func(text string) { workflow.Log(ctx, "signal "+text) })
			workflow.AddFuture(s, workflow.Start(ctx, actA, 1), func(n int, err error) { workflow.Log(ctx, "A", "n", n, "err", err) })
			workflow.AddFuture(s, workflow.Timer(ctx, time.Minute), func(nothing, error) { over = true })
			for !over {
				if err := s.Select(ctx); err != nil {
					told(ctx, "select", err)
					return nothing{}, err
				}
			}
			s.AddDefault(func() { workflow.Log(ctx, "nothing is ready") })
			if err := s.Select(ctx); err != nil {
				return nothing{}, err
			}
			return nothing{}, workflow.NewSelector().Select(ctx)
		}),
		// A future that the code never awaits, and one whose signal it never reads, across generations.
		workflow.New("receive-forgets", forgetful),
	}
}

func forgetful(ctx Ctx, generation int) (nothing, error) {
	workflow.Receive(ctx, note)
	first := workflow.Receive(ctx, note)
	if generation == 1 {
		text, received, err := workflow.TryReceive(ctx, note)
		workflow.Log(ctx, "at once", "text", text, "received", received, "err", err)
		return nothing{}, err
	}
	if _, err := workflow.Race(ctx, first); err != nil {
		return nothing{}, err
	}
	return workflow.ContinueAsNew(ctx, forgetful, 1)
}

type order struct{ Notes []string }

func (o order) with(text string) order {
	return order{append(o.Notes[:len(o.Notes):len(o.Notes)], text)}
}

func phases() []registry.Definition {
	// orders is a phase with every sort of answer.
	orders := func() *workflow.Phase[order] {
		p := workflow.NewPhase(order{})
		workflow.OnSignal(p, note, func(ctx Ctx, text string, o order) workflow.Next[order] {
			workflow.Log(ctx, "signal "+text)
			switch text {
			case "slow":
				n, err := workflow.Execute(ctx, actA, len(o.Notes))
				told(ctx, "slow", err)
				return workflow.Continue(o.with("slow" + string(rune('0'+n))))
			case "leave":
				return workflow.ContinueAsync(o.with(text), func(ctx Ctx) error {
					_, err := workflow.Execute(ctx, actB, 1)
					told(ctx, "what was left", err)
					p.Update(ctx, func(o order) order { return o.with("left done") })
					return err
				})
			case "panic":
				panic("in a phase")
			case "stop":
				return workflow.Finish(o.with(text))
			}
			return workflow.Continue(o.with(text))
		})
		workflow.OnUpdate(p, add, func(ctx Ctx, n int, o order) workflow.Answer[order, int] {
			workflow.Log(ctx, "update", "n", n)
			switch n {
			case 1:
				return workflow.ReplyAndFinish(len(o.Notes), o)
			case 2:
				return workflow.Reject[order, int](errBroken, o)
			case 3:
				return workflow.ReplyAsync(o, func(ctx Ctx) (int, error) { return workflow.Execute(ctx, actC, n) })
			case 4:
				return workflow.ReplyAsync(o, func(Ctx) (int, error) { panic("later") })
			case 5:
				panic("at once")
			}
			return workflow.Reply(len(o.Notes), o.with("update"))
		}, positive)
		return p
	}
	return []registry.Definition{
		define("phase", func(ctx Ctx) (order, error) {
			o, err := orders().Run(ctx)
			told(ctx, "the phase", err)
			return o, err
		}),
		workflow.New("phase-fails", func(ctx Ctx, _ nothing) (order, error) { return orders().Run(ctx) }).FailOnPanic(),
		define("phase-timeout", func(ctx Ctx) (order, error) {
			o, err := orders().Within(time.Minute).Run(ctx)
			told(ctx, "the phase", err)
			if err != nil {
				return o, err
			}
			return o, workflow.Sleep(ctx, time.Hour)
		}),
		// What the first phase does not take belongs to who waits after it.
		define("phase-then-signal", func(ctx Ctx) ([]string, error) {
			o, err := orders().Within(time.Minute).Run(ctx)
			told(ctx, "the phase", err)
			text, err := workflow.AwaitSignal(ctx, note)
			return append(o.Notes, "after: "+text), err
		}),
		define("phase-then-phase", func(ctx Ctx) ([]string, error) {
			first, err := orders().Run(ctx)
			told(ctx, "the first phase", err)
			second, err := orders().Run(ctx)
			told(ctx, "the second phase", err)
			return append(first.Notes, second.Notes...), err
		}),
		workflow.New("phase-past", func(ctx Ctx, d time.Duration) (order, error) {
			o, err := orders().Within(d).Run(ctx)
			told(ctx, "the phase", err)
			return o, workflow.Sleep(ctx, time.Hour)
		}),
		// Its validator reads the state: the update counts after what came before it.
		define("phase-validator", func(ctx Ctx) (int, error) {
			p := workflow.NewPhase(0)
			workflow.OnSignal(p, note, func(ctx Ctx, _ string, n int) workflow.Next[int] {
				more, _ := workflow.Execute(ctx, actA, n)
				return workflow.Continue(n + more)
			})
			workflow.OnUpdate(p, add, func(_ Ctx, n, sum int) workflow.Answer[int, int] { return workflow.Reply(sum+n, sum+n) },
				func(n int) error {
					if p.State()+n > 10 {
						return workflow.Fail("full", "%d of 10 are taken", p.State())
					}
					return nil
				})
			return p.Run(ctx)
		}),
		define("phase-nested", func(ctx Ctx) (nothing, error) {
			p := workflow.NewPhase(0)
			workflow.OnSignal(p, note, func(ctx Ctx, _ string, n int) workflow.Next[int] {
				_, _ = workflow.NewPhase(0).Run(ctx)
				return workflow.Finish(n)
			})
			_, err := p.Run(ctx)
			return nothing{}, err
		}),
		define("phase-update-calls", func(ctx Ctx) (nothing, error) {
			p := workflow.NewPhase(0)
			workflow.OnSignal(p, note, func(_ Ctx, _ string, n int) workflow.Next[int] {
				return workflow.ContinueAsync(n, func(ctx Ctx) error {
					p.Update(ctx, func(n int) int {
						_ = workflow.Sleep(ctx, time.Second)
						return n + 1
					})
					return nil
				})
			})
			_, err := p.Run(ctx)
			return nothing{}, err
		}),
	}
}
