//go:build kill

package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/workflows/order"
)

// fate of an order, as it is planned.
type fate string

const (
	shipped       fate = "shipped"
	declined      fate = "declined"
	refused       fate = "refused"
	late          fate = "late" // nobody approves in time
	undeliverable fate = "undeliverable"
	cancelled     fate = "cancelled"
	either        fate = "either" // approved and cancelled at about the same time
)

// fates in the proportion in which they are planned.
var fates = [...]fate{shipped, shipped, shipped, shipped, declined, refused, late, undeliverable, cancelled, either}

// ends says how an order of a fate may end: failure type by status.
func (f fate) ends() map[history.Status]string {
	switch f {
	case shipped:
		return map[history.Status]string{history.Completed: ""}
	case declined:
		return map[history.Status]string{history.Failed: order.CardDeclined}
	case refused:
		return map[history.Status]string{history.Failed: order.Refused}
	case late:
		return map[history.Status]string{history.Failed: order.NotApproved}
	case undeliverable:
		return map[history.Status]string{history.Failed: order.Undeliverable}
	case cancelled:
		return map[history.Status]string{history.Cancelled: ""}
	}
	return map[history.Status]string{history.Cancelled: "", history.Completed: ""}
}

// plan is what one caller does.
type plan struct {
	run    string
	fate   fate
	input  order.Input
	moves  string // address to move to, if any
	asks   bool
	pauses [3]time.Duration
}

func newPlan(r *rand.Rand, i int) *plan {
	upTo := func(most time.Duration) order.Duration { return order.Duration(r.Int64N(int64(most))) }
	p := &plan{run: fmt.Sprintf("order-%04d", i), fate: fates[i%len(fates)]}
	p.input = order.Input{Customer: fmt.Sprint("customer ", i%17), Address: "12 Park Row",
		Items:         []order.Item{{SKU: "tea", Quantity: 1 + i%3, Cents: 450}},
		ApproveWithin: order.Duration([]time.Duration{10 * time.Minute, 20 * time.Minute}[r.IntN(2)]), // longer ones are kept elsewhere
		Faults:        order.Faults{DeclineCard: p.fate == declined, NoCarrier: p.fate == undeliverable, Fail: r.IntN(3), Slow: upTo(200 * time.Millisecond)}}
	if p.fate == late {
		p.input.ApproveWithin = upTo(2*time.Second) + 1
	}
	if p.fate == shipped && r.IntN(3) == 0 {
		p.moves = fmt.Sprint(i, " New Street")
	}
	p.asks = r.IntN(8) == 0
	for i := range p.pauses {
		p.pauses[i] = time.Duration(upTo(800 * time.Millisecond))
	}
	return p
}

// said is what one caller was told: what the server promised.
type said struct {
	started bool
	mail    []promise // signals and requests to cancel that were accepted
	moved   bool      // the update was completed
}

// promise is a mail that was accepted.
type promise struct {
	id string
	at time.Time
}

// follow does what is planned. Each call is repeated, with the same id, until it has an answer.
func (p *plan) follow(ctx context.Context, c *callers) (told said, err error) {
	input, err := history.Encode(p.input)
	if err != nil {
		return told, err
	}
	err = c.call(ctx, func(ctx context.Context) error {
		_, err := c.client.Start(ctx, engine.StartRequest{Run: p.run, Workflow: order.Workflow.Name(), Input: input})
		return err
	})
	if err != nil {
		return told, fmt.Errorf("start: %w", err)
	}
	told.started = true
	if err := p.askAndMove(ctx, c, &told); err != nil {
		return told, err
	}
	for _, send := range p.mail() {
		accepted, err := p.send(ctx, c, send)
		if err != nil {
			return told, fmt.Errorf("%s: %w", send.id, err)
		}
		if !accepted.at.IsZero() {
			told.mail = append(told.mail, accepted)
		}
	}
	return told, nil
}

func (p *plan) askAndMove(ctx context.Context, c *callers, told *said) error {
	pause(ctx, p.pauses[0])
	if p.asks {
		err := c.call(ctx, func(ctx context.Context) error {
			_, err := c.client.Query(ctx, p.run, order.Status.Name(), nil)
			return err
		})
		if err != nil {
			return fmt.Errorf("query: %w", err)
		}
	}
	if p.moves == "" {
		return nil
	}
	address, err := history.Encode(p.moves)
	if err != nil {
		return err
	}
	return c.call(ctx, func(ctx context.Context) error {
		answer, err := c.client.Update(ctx, engine.MessageRequest{Run: p.run, ID: p.run + "-move"}, order.ChangeAddress.Name(), address)
		if err != nil {
			return fmt.Errorf("update: %w", err)
		}
		told.moved = answer.Phase == history.UpdateCompleted && answer.Failure == nil
		if !told.moved {
			text, _ := json.Marshal(answer)
			return definite{fmt.Errorf("update was not completed: %s", text)}
		}
		return nil
	})
}

// letter is a mail to send.
type letter struct {
	id       string
	decision *order.Decision // nil: a request to cancel
}

func (p *plan) mail() []letter {
	approve := letter{p.run + "-decision", &order.Decision{Approved: true, By: "Grace"}}
	cancel := letter{p.run + "-cancel", nil}
	switch p.fate {
	case shipped, undeliverable:
		return []letter{approve}
	case refused:
		return []letter{{p.run + "-decision", &order.Decision{By: "Grace"}}}
	case cancelled:
		return []letter{cancel}
	case either:
		return []letter{approve, cancel}
	}
	return nil
}

// send sends a mail. An order that has ended takes none: then there is no promise.
func (p *plan) send(ctx context.Context, c *callers, mail letter) (accepted promise, err error) {
	pause(ctx, p.pauses[1]/time.Duration(len(p.mail())))
	request := engine.MessageRequest{Run: p.run, ID: mail.id}
	input, err := history.Encode(mail.decision)
	if err != nil {
		return accepted, err
	}
	err = c.call(ctx, func(ctx context.Context) (err error) {
		if mail.decision == nil {
			_, err = c.client.Cancel(ctx, request, "changed my mind")
		} else {
			_, err = c.client.Signal(ctx, request, order.Approval.Name(), input)
		}
		if err == nil {
			accepted = promise{mail.id, time.Now()}
		}
		return allow(err, port.Closed)
	})
	return accepted, err
}
