package scheduler_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// TestTranscripts plays every file of testdata: each names a workflow of this package's tests, and says what happens to a
// run of it; what the run decides is compared with what the file says. -rewrite writes the files anew.
//
// Whatever a transcript shows, it also shows that the run's log restores it: see verify.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) { //nolint:thelper // it is the test
		tr := &transcript{t: t}
		defer tr.close()
		datadriven.RunTest(t, path, tr.play)
		tr.verify()
	})
}

// TestTranscriptsNameRows: the first line of a transcript names the rows of the seeds' checklist that it shows.
func TestTranscriptsNameRows(t *testing.T) {
	header := regexp.MustCompile(`^#( S1\.\d+)+\n#( \S+)+\n`)
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Regexp(t, header, string(text), "%s must begin with its rows, as in # S1.15, and a sentence", path)
		return nil
	})
	require.NoError(t, err)
}

// transcript is a run under test, with its log.
type transcript struct {
	t                *testing.T
	workflow         string
	deployed         int // records that other code made: only a replay can bring them back
	id               scheduler.Identity
	live             *scheduler.Run
	now              time.Time
	log              []stored
	deferred         []string      // what author's deferred functions wrote when the run was evicted
	outside          func()        // what a goroutine of the author's does while the run waits
	blocked, release chan struct{} // for code that blocks
}

// stored is a record with what its activation showed.
type stored struct {
	text  []byte
	shown string // the activation as the transcript shows it
	state string // of the run after it, as status shows it
}

// epoch is where the time of each transcript begins.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// elsewhere is where the first run happens; its log knows UTC alone.
var elsewhere = time.FixedZone("elsewhere", 3600)

// play carries out one verb. Each has a function of its own in verbs_test.go.
func (tr *transcript) play(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	tr.t = t
	verb, ok := verbs[d.Cmd]
	if !ok {
		d.Fatalf(t, "unknown verb %s", d.Cmd)
	}
	return verb(tr, d)
}

func (tr *transcript) close() {
	if tr.live != nil {
		tr.live.Close()
		tr.live = nil
	}
}

// fresh makes a run that has seen nothing.
func (tr *transcript) fresh(workflow string) *scheduler.Run {
	entry, ok := entries(tr).FindWorkflow(workflow)
	require.True(tr.t, ok, "no workflow %q in these tests", workflow)
	return scheduler.New(tr.id, entry)
}

// records gives the log anew, decoded.
func (tr *transcript) records() (records []*history.Record) {
	for _, s := range tr.log {
		records = append(records, tr.decode(s.text))
	}
	return records
}

func (tr *transcript) decode(text []byte) *history.Record {
	rec, err := history.DecodeRecord(text)
	require.NoError(tr.t, err)
	return rec
}

func feed(records ...*history.Record) scheduler.Feed {
	return func() (*history.Record, error) {
		if len(records) == 0 {
			return nil, nil
		}
		rec := records[0]
		records = records[1:]
		return rec, nil
	}
}

// verify holds that the log is enough: whichever part of it is replayed, at once or in pieces, and whether the rest is
// replayed or comes as news, the run ends up where the first one did, having decided the same.
func (tr *transcript) verify() {
	if len(tr.log) == 0 {
		return
	}
	tr.verifyCodec()
	records := tr.records()
	for split := 0; split <= len(records); split++ {
		tr.verifyPieces(split)
		if split >= tr.deployed {
			tr.verifyGoingOn(split)
		}
	}
}

// verifyCodec: encoding and decoding changes nothing.
func (tr *transcript) verifyCodec() {
	for _, s := range tr.log {
		rec := tr.decode(s.text)
		require.Equal(tr.t, rec, tr.decode(history.AppendRecord(nil, rec)), "a record changes when it is written and read")
		for _, event := range rec.Events {
			again, err := history.DecodeEvent(history.EncodeEvent(event))
			require.NoError(tr.t, err)
			require.Equal(tr.t, event, again)
		}
		for _, command := range rec.Commands {
			again, err := history.DecodeCommand(history.EncodeCommand(command))
			require.NoError(tr.t, err)
			require.Equal(tr.t, command, again)
		}
	}
}

// verifyPieces replays the first records, then the rest with the run still warm.
func (tr *transcript) verifyPieces(split int) {
	run := tr.fresh(tr.workflow)
	defer run.Close()
	records := tr.records()
	require.NoError(tr.t, run.Replay(feed(records[:split]...)), "replay of the first %d records", split)
	tr.same(run, split)
	require.NoError(tr.t, run.Replay(feed(records[split:]...)), "replay of the records after %d", split)
	tr.same(run, len(records))
}

// verifyGoingOn replays the first records, and gives the events of the rest as news.
func (tr *transcript) verifyGoingOn(split int) {
	run := tr.fresh(tr.workflow)
	defer run.Close()
	records := tr.records()
	require.NoError(tr.t, run.Replay(feed(records[:split]...)))
	for i, rec := range records[split:] {
		completion, err := run.Activate(scheduler.Activation{Record: rec.Number, Time: rec.Time,
			Events: rec.Events})
		require.NoError(tr.t, err)
		require.Equal(tr.t, tr.log[split+i].shown, show(completion), "record %d, decided after a replay of %d", rec.Number, split)
		tr.same(run, split+i+1)
	}
}

// same holds a run against the first one after so many records.
func (tr *transcript) same(run *scheduler.Run, records int) {
	if records == 0 {
		return
	}
	require.Equal(tr.t, tr.log[records-1].state, status(run), "after %d records", records)
	var fold machine.Fold
	for _, rec := range tr.records()[:records] {
		fold.Add(rec)
	}
	var folded, pending []int64
	for _, p := range fold.Pending() {
		folded = appendSeq(folded, p.Command)
	}
	for _, command := range run.PendingCommands() {
		pending = appendSeq(pending, command)
	}
	if fold.Closes == nil {
		require.Equal(tr.t, pending, folded, "the log alone says otherwise what is pending after %d records", records)
	}
}

// appendSeq leaves out what may be let go on: of its end there is no sign in the log.
func appendSeq(seqs []int64, command history.Sequenced) []int64 {
	if a, ok := command.(*history.ScheduleActivity); ok && a.Options.Cancellation == history.Abandon {
		return seqs
	}
	return append(seqs, command.Seq())
}

// activate gives the live run events, and keeps the record.
func (tr *transcript) activate(events []history.Event) (string, error) {
	number := len(tr.log) + 1
	tr.warm()
	completion, err := tr.live.Activate(scheduler.Activation{Record: number,
		Time: tr.now.In(elsewhere), Events: events})
	if err != nil {
		tr.close()
		return "", err
	}
	rec := &history.Record{Number: number, Time: tr.now, Author: "test", Until: tr.now.Add(time.Minute), Events: events, Commands: completion.Commands}
	kept := stored{text: history.AppendRecord(nil, rec), shown: show(completion), state: status(tr.live)}
	require.Equal(tr.t, completion.Closes, rec.Closes())
	tr.log = append(tr.log, kept)
	return kept.shown, nil
}

// warm replays the log if the run is not live.
func (tr *transcript) warm() {
	if tr.live == nil {
		tr.live = tr.fresh(tr.workflow)
		require.NoError(tr.t, tr.live.Replay(feed(tr.records()...)))
	}
}

// report shows an error as transcripts do: stacks and addresses differ from time to time.
func report(err error) string {
	var panicked *history.Failure
	if errors.As(err, &panicked) && panicked.FailureKind == history.Panic {
		return "error: " + panicked.Error() + "\n"
	}
	return "error: " + place.ReplaceAllString(err.Error(), "called at: $1:N") + "\n"
}

// place is where code made a call. Its line changes with the code before it.
var place = regexp.MustCompile(`called at: \S*/(\S+\.go):\d+`)

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

func indent(out *bytes.Buffer, prefix string, all []string) {
	for _, line := range all {
		fmt.Fprintf(out, "%s%s\n", prefix, line)
	}
}
