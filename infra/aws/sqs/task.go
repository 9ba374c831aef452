package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// taskBody is the form of a task.
type taskBody struct {
	Version    int             `json:"v"`
	Run        string          `json:"run"`
	Generation int             `json:"generation"`
	Origin     int             `json:"origin"`
	Attempt    int             `json:"attempt"`
	Scheduled  time.Time       `json:"scheduled"`
	Sent       time.Time       `json:"sent"`
	Expire     bool            `json:"expire"`
	Command    json.RawMessage `json:"command"` // as offload.Codec stores commands
	// Failed attempts are an answer of the activity's that shows them, and has no result yet: as offload.Codec stores events.
	Failed json.RawMessage `json:"failed"`
}

func (q *Queue) encodeTask(ctx context.Context, t port.Task) (string, error) {
	body := begin(t.Run)
	body.number("generation", int64(t.Generation))
	if t.Origin > 0 {
		body.number("origin", int64(t.Origin))
	}
	body.number("attempt", int64(t.Attempt))
	body.time("scheduled", t.Scheduled)
	body.time("sent", t.Sent)
	body.flag("expire", t.Expire)
	command, err := q.codec.EncodeCommand(ctx, t.Run, t.Command)
	if err != nil {
		return "", err
	}
	body.member("command", command)
	if len(t.Failed) > 0 {
		failed, err := q.codec.EncodeEvent(ctx, t.Run, &history.ActivityResolved{Seq: t.Command.Seq(), Attempts: t.Failed})
		if err != nil {
			return "", err
		}
		body.member("failed", failed)
	}
	return q.seal(ctx, t.Run, body)
}

// DecodeTask reads a message that was received from the queue of tasks. An error wraps history.ErrUnreadable if no attempt
// will ever read it, engine.ErrUnavailable if a long payload did not come.
func (q *Queue) DecodeTask(ctx context.Context, body string) (port.Task, error) {
	var read taskBody
	if err := q.open(ctx, "task", body, &read); err != nil {
		return port.Task{}, err
	}
	if read.Run == "" || read.Generation < 1 || read.Origin < 0 || read.Attempt < 1 ||
		read.Command == nil {
		return port.Task{}, unreadable("task", body,
			errors.New("it does not name a run, its generation, a command and an attempt"))
	}
	command, err := q.codec.DecodeCommand(ctx, read.Run, read.Command)
	if err != nil {
		return port.Task{}, fmt.Errorf("the command of a task of run %q: %w", read.Run, err)
	}
	schedule, ok := command.(*history.ScheduleActivity)
	if !ok {
		return port.Task{}, unreadable("task", body, fmt.Errorf("a command of kind %s is no task",
			command.Kind()))
	}
	for _, at := range []time.Time{read.Scheduled.UTC(), read.Sent.UTC()} {
		// another time zone's New Year's Eve: it could not be sent again
		if at.Year() < 0 || at.Year() > 9999 {
			return port.Task{}, unreadable("task", body,
				fmt.Errorf("the time %s is of no year from 0 to 9999", at))
		}
	}
	t := port.Task{Run: read.Run, Generation: read.Generation, Origin: read.Origin,
		Command: schedule, Scheduled: read.Scheduled.UTC(), Sent: read.Sent.UTC(),
		Attempt: read.Attempt, Expire: read.Expire}
	if read.Failed != nil {
		if t.Failed, err = q.decodeFailed(ctx, read.Run, read.Failed); err != nil {
			return port.Task{}, fmt.Errorf("the failed attempts of a task of run %q: %w",
				read.Run, err)
		}
	}
	return t, nil
}

func (q *Queue) decodeFailed(ctx context.Context, run string, text []byte) ([]history.Attempt, error) {
	event, err := q.codec.DecodeEvent(ctx, run, text)
	if err != nil {
		return nil, err
	}
	resolved, ok := event.(*history.ActivityResolved)
	if !ok {
		return nil, fmt.Errorf("%w: an event of kind %s has none", history.ErrUnreadable, event.Kind())
	}
	return resolved.Attempts, nil
}
