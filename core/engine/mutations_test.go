package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mutation takes one rule out of the engine: in a file, the old text is replaced by the new one.
type mutation struct {
	rule, test string
	file       string // from the module's root
	old, new   string
}

const (
	activateGo = "core/engine/activate.go"
	decideGo   = "core/engine/decide.go"
	commitGo   = "core/engine/commit.go"
	sendGo     = "core/engine/send.go"
	startGo    = "core/engine/start.go"
	mailGo     = "core/engine/mail.go"
	closedGo   = "core/engine/closed.go"

	administerGo = "core/engine/administer.go"
)

var mutations = []mutation{
	{"FileFirst", "TestRuleFileFirst", activateGo,
		"if err := e.fileCarried(ctx, message); err != nil {\n\t\t\t\treturn err\n\t\t\t}",
		"defer func() { _ = e.fileCarried(ctx, message) }()"},
	{"ResumeAgain (result)", "TestRuleResumeAgain", "core/engine/task.go",
		"if _, _, err := e.Runs.File(ctx, t.Run, e.newItem(event, t.Generation, false)); err != nil && !errors.Is(err, ErrNoRun) {\n\t\treturn err\n\t}",
		"if _, there, err := e.Runs.File(ctx, t.Run, e.newItem(event, t.Generation, false)); there || err != nil && !errors.Is(err, ErrNoRun) {\n\t\treturn err\n\t}"},
	{"ResumeAgain (start)", "TestRuleResumeAgain", startGo, "if err == nil && e.Together { // who put it", "if false { // who put it"},
	{"ResumeAgain (child)", "TestRuleResumeAgain", sendGo, "o.resumes = append(o.resumes, Resume{Run: there.Run})", "_ = there"},
	{"MessageFirst (start)", "TestRuleMessageFirst", startGo, "if !e.Together { // message first: its summary put", "if false { // message first: its summary put"},
	{"MessageFirst (mail)", "TestRuleMessageFirst", mailGo,
		"if !e.Together {\n\t\tcarrying := item", "defer func() { _ = e.Queue.SendResumes(ctx, Resume{Run: request.Run}) }()\n\tif false {\n\t\tcarrying := item"},
	{"MessageFirst (reuse)", "TestRuleMessageFirstReuse", startGo, "if !e.Together { // message first, as with any start", "if false { // message first, as with any start"},
	{"Finish", "TestRuleFinish", decideGo,
		"p.again = append(p.again, history.Item{Key: item.Key, Filing: item.Event.Filing()})\n\t\tp.finish = appendOnce(p.finish, a)",
		"p.again = append(p.again, history.Item{Key: item.Key, Filing: item.Event.Filing()})"},
	{"Patience", "TestRulePatience", decideGo,
		"case !v.e.Authors.Dead(a.name, a.until, v.e.Clock.Now()):\n\t\tp.leave(a.until)\n\tdefault:\n\t\tp.tidy = append(p.tidy, item.Key)\n\t\tp.again",
		"default:\n\t\tp.tidy = append(p.tidy, item.Key)\n\t\tp.again"},
	{"ResumeLater", "TestRuleResumeLater", activateGo, "if v.wait.IsZero() {", "if true {"},
	{"FinishFirst", "TestRuleFinishFirst", activateGo,
		"if err := v.finishDead(ctx, p); err != nil { // before a record of one's own\n\t\treturn false, err\n\t}\n\tif p.records() {",
		"defer func() {\n\t\tif v.slot.live != nil {\n\t\t\t_ = v.finishDead(ctx, p)\n\t\t}\n\t}()\n\tif p.records() {"},
	{"Takeover", "TestRuleTakeover", decideGo, "p.resumes = append(p.resumes, step.Seq())", "p.steps = append(p.steps, step.Seq())"},
	{"NameAgain", "TestRuleNameAgain", decideGo, "p.again = append(p.again, history.Item{Key: item.Key, Filing: item.Event.Filing()})", ""},
	{"Deadline (steps)", "TestRuleDeadline", decideGo,
		"case v.e.Authors.Dead(a.name, a.until, v.e.Clock.Now()):\n\t\t\tp.resumes", "default:\n\t\t\tp.resumes"},
	{"Deadline (records)", "TestRuleDeadline", commitGo, "Author: v.author, Until: v.until, Again: again,", "Author: v.author, Until: now, Again: again,"},
	{"OneFiling", "TestRuleOneFiling", startGo, "item.Event = history.Refile(item.Event, e.newFiling())", ""},
	{"Lookback", "TestRuleLookback", decideGo,
		"return false, v.lookBack(ctx, p, item, generation, l.position.Generation)", "p.tidy = append(p.tidy, item.Key)\n\t\treturn false, nil"},
	{"LookAgain", "TestRuleLookAgain", activateGo, "if v.slot.live.closes != nil { // under", "if false { // under"},
	{"LookAgain (closed)", "TestRuleLookAgain", closedGo, "\tif late { // what", "\tif false { // what"},
	{"LookAgain (closed, the start)", "TestRuleLookAgain", closedGo, "\tif of > generation {\n\t\treturn true, nil\n\t}\n", ""},
	{"LookAgain (by hand)", "TestTerminatedWhileContinuing", administerGo, "if fold.Closes != nil && !view.Summary.Status.Closed() {", "if false {"},
	{"StartLeft", "TestRuleStartLeft", closedGo, "o.startLeft(ctx, fold.Pending())", "error(nil)"},
	{"StartLeft (by a dead author)", "TestRuleStartLeft", closedGo, "\tif len(p.finish) > 0 {\n\t\tp.earlier = append(p.earlier, generation)\n\t}\n", ""},
	{"StartLeft (by oneself)", "TestRuleStartLeft", decideGo, "a.name == v.author && a.newest <= v.sent[g]", "a.name == v.author"},
	{"CarryIds", "TestRuleCarryIds", commitGo, "Signals: l.exec.Unread(), Mail: mail}", "Signals: l.exec.Unread()}"},
	{"CarryIds (of the last record)", "TestRuleCarryIds", commitGo, "mail = append(mail, taken.MailID())", "_ = taken"},
	{"CarryIds (before they are recorded)", "TestWithoutFaults/continue", decideGo, "\tv.knowMail(view)\n", ""},
	{"CarrySignals", "TestRuleCarrySignals", commitGo, "Signals: l.exec.Unread(), Mail: mail}", "Mail: mail}"},
	{"DeleteLast", "TestRuleDeleteLast", commitGo,
		"if err := v.sendFor(ctx, l.ledger.authors[v.author]); err != nil {",
		"_ = v.e.Runs.Delete(ctx, v.run, v.tidy)\n\tif err := v.sendFor(ctx, l.ledger.authors[v.author]); err != nil {"},
	{"AcknowledgeLast", "TestRuleAcknowledgeLast", activateGo, "answers[0] = e.visit(", "_ = e.visit("},
	{"AcknowledgeLast (acknowledged before it is sent)", "TestRuleAcknowledgeLast", commitGo,
		"if err := v.sendFor(ctx, l.ledger.authors[v.author]); err != nil {\n\t\treturn false, err\n\t}", "_ = v.sendFor(ctx, l.ledger.authors[v.author])"},
	{"HandOver", "TestRuleHandOver", commitGo,
		"if _, err := v.put(ctx, &Commit{Run: v.run, Generation: l.position.Generation, Record: rec}); err != nil {\n\t\treturn err\n\t}",
		"v.slot.drop()"},
	{"DeadFiles", "TestRuleDeadFiles", "core/engine/deadletter.go", "if message.Carries != nil {", "if false {"},
	{"BlockClosed", "TestRuleBlockClosed", "core/engine/deadletter.go", "err == nil && len(view.Inbox) == 0 {",
		"err == nil && (len(view.Inbox) == 0 || view.Summary.Status.Closed()) {"},
	{"UnblockByMessage", "TestRuleUnblockByMessage", "core/engine/block.go",
		"return e.unavailable(e.Queue.SendResumes(ctx, Resume{Run: run, Unblock: true}), \"the run was not unblocked\")",
		"if err := e.Runs.Block(ctx, run, nil); err != nil {\n\t\treturn err\n\t}\n\treturn e.Queue.SendResumes(ctx, Resume{Run: run})"},
	{"ClearFirst", "TestRuleClearFirst", activateGo,
		"if err := e.Runs.Block(ctx, run, nil); err != nil && !errors.Is(err, ErrNoRun) {\n\t\t\t\treturn err\n\t\t\t}",
		"defer func() { _ = e.Runs.Block(ctx, run, nil) }()"},
	{"RebuildSends", "TestRuleRebuildSends", "core/engine/rebuild.go", "if err := o.add(ctx, p.Command, p.Time); err != nil {", "if err := error(nil); err != nil {"},
	{"RebuildClosed", "TestRuleRebuildClosed", "core/engine/rebuild.go", "if steps || len(view.Inbox) > 0 {",
		"if steps || len(view.Inbox) > 0 && !view.Summary.Status.Closed() {"},
	{"Route", "TestRuleRoute", sendGo, "if left > longestDelay {", "if left > 5*time.Minute {"},
	{"Cursor", "TestRuleCursor", "core/engine/timer.go", "if err != nil || len(timers) == 0 {", "if err != nil || len(timers) == 0 || timers[0].At.Before(now) {"},
	{"SendFirst", "TestRuleSendFirst", "core/engine/timer.go",
		"if err := e.Queue.SendResumes(ctx, resumes...); err != nil {",
		"if err := e.Due.DeleteDue(ctx, timers); err != nil {\n\t\t\treturn fired, err\n\t\t}\n\t\tif err := e.Queue.SendResumes(ctx, resumes...); err != nil {"},
	{"no condition on the put", "TestRuleOneRecord", "infra/local/memory/store.go", "if there {\n\t\t\treturn fmt.Errorf(\"record", "if there && false {\n\t\t\treturn fmt.Errorf(\"record"},
	{"a lost race is not looked at", "TestRuleOneRecord", commitGo, "if err != nil {\n\t\tv.slot.drop() // its code", "if err != nil && !errors.Is(err, ErrTaken) {\n\t\tv.slot.drop() // its code"},
	{"one's own record is not known", "TestRuleOwnRecord", decideGo, "a.newest > v.sent[generation] {", "false {"},
	{"one's own record of the next generation is not known", "TestOwnRecordOfTheNextGeneration", sendGo,
		"set(&v.sent, l.position.Generation, a.newest)", "for g := range 9 {\n\t\t\tset(&v.sent, g, a.newest)\n\t\t}"},
	{"time goes back", "TestRuleTimeGoesOn", commitGo, "now := later(v.e.Clock.Now(), l.time)\n\tnumber", "now := v.e.Clock.Now()\n\tnumber"},
	{"time goes back (by hand)", "TestRuleTimeGoesOn", administerGo, "later(v.e.Clock.Now().UTC(), fold.Time)", "v.e.Clock.Now().UTC()"},
	{"steps of a generation that ended", "TestStepsOfAGenerationThatEnded", activateGo, "\tv.stepsOfGeneration(view.Summary.Generation)\n", ""},
	{"a result for a closed run", "TestStepsOfARunThatEnded", activateGo, "\tif v.slot.live.closes != nil {\n\t\treturn nil\n\t}\n", ""},
	{"a reset that is asked for again", "TestResets", administerGo, "if slices.Contains(mailBefore(view, fold), event.ID) {", "if false {"},
	{"mail of the generations before a reset", "TestResets", administerGo, "started.Mail = append(started.Mail, first.Mail...)", "_ = first"},
	{"answers of earlier generations", "TestUpdateAnsweredBeforeContinuing", "core/engine/update.go", "err == nil && earlier && generation > 0;", "err == nil && earlier && generation < 0;"},
	{"a termination after a cancellation", "TestCancelledThenTerminated", sendGo, "mail(id + \".terminate\")", "mail(id)"},
	{"a step whose cancellation is in the log", "TestCancellationOfActivities", "core/engine/step.go", "if v.slot.live.ledger.asked[command.Seq()] {", "if false {"},
	{"requests to children when queues are lost", "TestRequestsToChildrenOutliveAProcess", "core/engine/rebuild.go", "if p.Cancel != nil {", "if false {"},
	{"the end of an invocation", "TestOutlastsItsInvocation", "core/engine/budget.go", "return b.deadline.Add(-min(", "return time.Time{}.Add(-min("},
	{"the version of a block", "TestUnblockedByTheNextDeployment", "core/engine/block.go", "run.Blocked.Version != e.config.Version", "true"},
	{"the time of a long wait", "TestLongWait", "core/engine/task.go", "t.Attempt > 1 && left > 0 {", "false && left > 0 {"},
	{"children that begin late", "TestChildThatBeginsLate", sendGo, "return o.leaveLate(ctx, command)\n}\n\n// leaveLate", "return nil\n}\n\n// leaveLate"},
	{"mail in the order of its letters", "TestRuleStamps", mailGo, "max(item.Stamp, request.After+1)", "item.Stamp"},
}

// TestMutations proves the tests of the rules: each fails when its rule is taken out of the engine.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the engine once for each rule")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range mutations {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			output, failed := m.run(t, root)
			require.True(t, failed, "%s passes without the rule:\n%s", m.test, output)
			require.Contains(t, output, "--- FAIL: "+strings.Split(m.test, "/")[0], "it fails for another reason:\n%s", output)
		})
	}
}

// run gives what the test says without the rule, and whether it failed.
func (m *mutation) run(t *testing.T, root string) (output string, failed bool) {
	t.Helper()
	source := filepath.Join(root, m.file)
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), m.old), "the text of the rule is not in %s as it was:\n%s", m.file, m.old)
	folder := t.TempDir()
	mutant, overlay := filepath.Join(folder, filepath.Base(m.file)), filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(mutant, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: mutant}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	pattern := "^" + strings.ReplaceAll(m.test, "/", "$/^") + "$"
	command := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-vet=off", "-timeout=60s", "-failfast", "-run", pattern, "./core/engine")
	command.Dir = root
	out, err := command.CombinedOutput()
	return string(out), err != nil
}
