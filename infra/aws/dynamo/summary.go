package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// A summary's row has, beside its body: generation, on which updates of it are conditional; status, started, workflow, closed
// and listed for the index of listings; and, apart from what updates replace, blocked (a block, as JSON), mark (its id)
// and stuck (its shard), for the index of blocked runs.
//
// There is a run if there is a summary with a generation. One without is the rest of a run that is being deleted: see
// retention.go.

// Summary is one strongly consistent read of one row.
func (s *Store) Summary(ctx context.Context, run string) (*port.Summary, error) {
	r, err := s.getRow(ctx, call{"summary", run}, partition(run), summaryKey)
	if err != nil {
		return nil, err
	}
	if !isRun(r) {
		return nil, noRun(run)
	}
	return s.readSummary(ctx, r)
}

// isRun says whether there is a run, given the row of its summary.
func isRun(r row) bool { return r["generation"] != nil }

// readSummary reads a run's summary, and the block that stands beside it. Where the summary cannot be read, it gives what the rest of
// the row says, too.
func (s *Store) readSummary(ctx context.Context, r row) (*port.Summary, error) {
	return s.readSummaryBy(ctx, r, s.codec.DecodeSummary)
}

// readListed reads a run's summary as a list shows it: without long values, which are not fetched.
func (s *Store) readListed(ctx context.Context, r row) (*port.Summary, error) {
	summary, err := port.Shown(s.readSummaryBy(ctx, r, s.codec.DecodeListed))
	if err != nil {
		return nil, err
	}
	return summary.LeaveOut(port.LongestListed), nil
}

func (s *Store) readSummaryBy(
	ctx context.Context, r row, decode func(context.Context, string, []byte) (*port.Summary, error),
) (*port.Summary, error) {
	var summary *port.Summary
	text, err := content(ctx, s.codec, r)
	if err == nil {
		summary, err = decode(ctx, runOf(r), text)
	}
	if err != nil {
		summary, err = besideSummary(r), fmt.Errorf("the summary of run %q: %w", runOf(r), err)
	}
	if mark := textOf(r, "blocked"); mark != "" {
		block, bad := s.codec.DecodeBlock(ctx, runOf(r), []byte(mark))
		if summary.Blocked = block; bad != nil {
			return summary, fmt.Errorf("the block of run %q: %w", runOf(r), bad)
		}
	}
	return summary, err
}

// besideSummary gives what a row says of a summary beside its body.
func besideSummary(r row) *port.Summary {
	summary := &port.Summary{Run: runOf(r), Workflow: textOf(r, "workflow"),
		Generation: int(numberOf(r, "generation")), Status: history.Status(textOf(r, "status"))}
	started, _, _ := strings.Cut(textOf(r, "started"), "#")
	summary.Started, _ = time.Parse(sortableTime, started) // the zero time, if that is damaged, too
	if summary.Status.Closed() {
		summary.Closed = time.Unix(numberOf(r, "closed"), 0).UTC()
	}
	return summary
}

// summaryRow gives the attributes that a new summary replaces: all but the block.
func (s *Store) summaryRow(ctx context.Context, run string, summary *port.Summary) (row, error) {
	unmarked := *summary
	unmarked.Blocked = nil
	content, err := s.codec.EncodeSummary(ctx, &unmarked)
	if err != nil {
		return nil, err
	}
	body, err := s.body(ctx, run, content)
	if err != nil {
		return nil, err
	}
	r := row{
		"body": body, "generation": number(int64(summary.Generation)), "status": text(string(summary.Status)), "workflow": text(summary.Workflow),
		"started": text(startedKey(summary.Started, run)), "listed": text(listedKey(summary.Status, shardOf(run, s.shards))),
	}
	if summary.Status.Closed() {
		r["closed"] = number(summary.Closed.Unix())
	}
	return r, nil
}

// blockRow gives the attributes of a block.
func (s *Store) blockRow(ctx context.Context, run string, block *port.Block) (row, error) {
	mark, err := s.codec.EncodeBlock(ctx, run, block)
	if err != nil {
		return nil, err
	}
	return row{"blocked": text(string(mark)), "mark": text(block.ID), "stuck": text(shardOf(run, s.shards))}, nil
}

// update is an update expression in the making. Names of attributes are replaced throughout: many are reserved words.
type update struct {
	set, remove []string
	names       map[string]string
	values      row
}

// change sets some attributes and removes others.
func change(set row, remove ...string) *update {
	u := &update{names: map[string]string{}, values: row{}}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		u.set = append(u.set, u.name(name)+" = "+u.value(name, set[name]))
	}
	for _, name := range remove {
		u.remove = append(u.remove, u.name(name))
	}
	return u
}

func (u *update) name(name string) string {
	u.names["#"+name] = name
	return "#" + name
}

func (u *update) value(name string, value types.AttributeValue) string {
	u.values[":"+name] = value
	return ":" + name
}

func (u *update) expression() *string {
	var parts []string
	if len(u.set) > 0 {
		parts = append(parts, "SET "+strings.Join(u.set, ", "))
	}
	if len(u.remove) > 0 {
		parts = append(parts, "REMOVE "+strings.Join(u.remove, ", "))
	}
	return aws.String(strings.Join(parts, " "))
}

// attributes gives the values, or nil where there are none, which is what DynamoDB wants.
func (u *update) attributes() row {
	if len(u.values) == 0 {
		return nil
	}
	return u.values
}

// Block is one conditional update. It may come between an activation's look and its put: a put leaves it alone.
func (s *Store) Block(ctx context.Context, run string, block *port.Block) error {
	mark, err := s.blockRow(ctx, run, block)
	if err != nil {
		return err
	}
	u := change(mark)
	err = s.updateMark(ctx, call{"block", run}, run, u, "attribute_exists("+u.name("generation")+")")
	if refused(err) {
		return noRun(run)
	}
	return err
}

// Unblock is one conditional update.
func (s *Store) Unblock(ctx context.Context, run, mark string) error {
	u := change(nil, "blocked", "mark", "stuck")
	err := s.updateMark(ctx, call{"unblock", run}, run, u, u.name("mark")+" = "+u.value("mark", text(mark)))
	if refused(err) {
		return nil
	}
	return err
}

func (s *Store) updateMark(ctx context.Context, c call, run string, u *update, condition string) error {
	return s.updateRow(ctx, c, &dynamodb.UpdateItemInput{Key: keyOf(partition(run), summaryKey), UpdateExpression: u.expression(),
		ConditionExpression: &condition, ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.attributes()})
}
