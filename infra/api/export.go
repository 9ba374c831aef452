package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// pieceOfLog is how many bytes of a log one answer gives. Six times as many, if each byte must be escaped to be put into
// JSON, still fit the 6,291,556 bytes that a Lambda function may answer with.
const pieceOfLog = 1_000_000

// place in the text of an export: in that of a generation, after a record that counts for it, and
// so many bytes of what follows, its separator included. Before all records, what follows begins
// with the head.
type place struct {
	generation int
	after      port.Position
	bytes      int
}

func (p place) String() string {
	return fmt.Sprintf("%d.%d.%d.%d", p.generation, p.after.Generation, p.after.Record, p.bytes)
}

func parsePlace(given string) (p place, err error) {
	parts := strings.Split(given, ".")
	into := []*int{&p.generation, &p.after.Generation, &p.after.Record, &p.bytes}
	for i := 0; i < len(into) && err == nil && len(parts) == len(into); i++ {
		*into[i], err = strconv.Atoi(parts[i])
	}
	from := p.after
	if err != nil || p.String() != given || p.generation < 1 || min(from.Generation, from.Record, p.bytes) < 0 || from.Generation > p.generation ||
		(from.Generation == 0) != (from.Record == 0) {
		return place{}, invalid(fmt.Sprintf("%q is no place in an export: take it from the "+
			"header %s of the piece before", given, wire.NextHeader))
	}
	return p, nil
}

// exportHistory gives a piece of the text that history.AppendExport makes of all records.
func exportHistory(c *call) error {
	ctx, p := c.r.Context(), &piece{run: c.r.PathValue("run")}
	sealed, err := c.flag("sealed")
	if err != nil {
		return err
	}
	if sealed {
		p.seal = c.config.Seal
	}
	if given := c.value("after"); given != "" {
		if err := p.goOn(c, given); err != nil {
			return err
		}
	} else if _, p.at.generation, err = c.generation(); err != nil {
		return err
	}
	if p.at.after == (port.Position{}) {
		if err := p.makeHead(c); err != nil {
			return err
		}
	}
	if err := c.awaitRoomForLog(p.run, max(p.at.after.Generation, 1), p.at.after.Record); err != nil {
		return err
	}
	err = c.engine.Export(ctx, p.run, p.at.generation, p.at.after,
		func(at port.Position, record *history.Record) error {
			return p.add(ctx, at, record)
		})
	if err == nil && p.at.after == (port.Position{}) { // there are no records
		err = p.put(p.head)
	}
	switch {
	case errors.Is(err, errFull):
		c.w.Header().Set(wire.NextHeader, p.at.String())
	case err != nil:
		return err
	default:
		p.text = append(p.text, exportTail...)
	}
	if err := c.awaitRoom(int64(len(p.text)), c.config.Limits.RoomWithin); err != nil {
		return err
	}
	writeText(c.w, http.StatusOK, "application/json", p.text)
	return nil
}

// exportTail ends the text of an export.
const exportTail = "\n]}\n"

// errFull ends a piece.
var errFull = errors.New("the piece is full")

// piece of an export, as far as it is written.
type piece struct {
	run  string
	seal seal.Codec // nil: values are in the clear
	head []byte     // what comes before the first record, where the piece may have a part of it
	text []byte
	at   place // that the text ends at
	skip int   // bytes of what comes next that the piece before had
}

// makeHead makes what comes before the first record. It has the source of the definition, which may
// be longer than a piece.
func (p *piece) makeHead(c *call) error {
	ctx := c.r.Context()
	summary, err := c.engine.Get(ctx, p.run)
	if err != nil {
		return err
	}
	export := &history.Export{Run: p.run, Generation: p.at.generation, Workflow: summary.Workflow}
	if export.Keys, err = seal.ExportKeys(ctx, p.seal); err != nil {
		return err
	}
	if summary.Definition != 0 || summary.Generation != p.at.generation { // else there is none
		if err := c.awaitRoom(copiesOfValue*port.LongestSource,
			c.config.Limits.RoomWithin); err != nil {
			return err
		}
		if export.Definition, err = c.engine.DefinitionOf(ctx, p.run, p.at.generation); err != nil {
			return err
		}
	}
	frame, err := seal.Encode(ctx, p.seal, p.run, func(e history.Encoder) ([]byte, error) {
		return e.AppendExport(nil, export), nil
	})
	if err != nil {
		return err
	}
	head, ok := bytes.CutSuffix(frame, []byte(exportTail))
	if !ok {
		return errors.New("an export without records ends differently than its pieces")
	}
	p.head = head
	return nil
}

func (p *piece) goOn(c *call, given string) (err error) {
	if p.at, err = parsePlace(given); err != nil {
		return err
	}
	p.skip = p.at.bytes
	asked, err := c.number("generation")
	if err == nil && asked != 0 && asked != p.at.generation {
		err = invalid(fmt.Sprintf("parameter generation is %d, and after is a place in generation %d", asked, p.at.generation))
	}
	return err
}

// add adds a record, or as much of it as there is room for; then the piece is full. A record is sealed to the same text for each piece
// that has a part of it, as long as the key is the same.
func (p *piece) add(ctx context.Context, at port.Position, record *history.Record) error {
	before := []byte(",\n")
	if p.at.after == (port.Position{}) {
		before = slices.Concat(p.head, []byte("\n"))
	}
	text, err := seal.Encode(ctx, p.seal, p.run, func(e history.Encoder) ([]byte, error) {
		return e.AppendRecord(before, record), nil
	})
	if err != nil {
		return err
	}
	if err := p.put(text); err != nil {
		return err
	}
	p.at = place{generation: p.at.generation, after: at}
	return nil
}

// put adds the part of a text that the pieces before did not have, or as much of it as there is
// room for: then the piece is full.
func (p *piece) put(text []byte) error {
	if p.skip > len(text) {
		return invalid(fmt.Sprintf(
			"%q is not a place in this export: what comes there has %d bytes", p.at, len(text)))
	}
	rest, room := text[p.skip:], pieceOfLog-len(p.text)
	if len(rest) <= room {
		p.text = append(p.text, rest...)
		p.skip = 0
		return nil
	}
	for least := max(room-utf8.UTFMax, 0); room > least && !utf8.RuneStart(rest[room]); { // what carries it may take text alone
		room--
	}
	p.text = append(p.text, rest[:room]...)
	p.at.bytes = p.skip + room
	return errFull
}
