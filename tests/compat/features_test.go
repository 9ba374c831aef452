package compat

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// TestEveryFeatureIsRecorded: each kind of event and command that core/history knows, each member that one may have, and each
// word that stands for a choice, is in some log. What is added there needs a log here.
func TestEveryFeatureIsRecorded(t *testing.T) {
	recorded := features{}
	for _, file := range logs(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		recorded.read(t, "export", text)
	}
	missing := []string{}
	for _, feature := range slices.Sorted(maps.Keys(known(t))) {
		if !recorded[feature] {
			missing = append(missing, feature)
		}
	}
	require.Empty(t, missing, "no log has these: record one (see README.md)")
}

// features are what logs have: members, as "kind.member", and choices, as "member=word".
type features map[string]bool

// choices are members whose value is one of a few words.
var choices = map[string]bool{"phase": true, "onClose": true, "cancellation": true}

// theirs are members whose values are the author's.
var theirs = map[string]bool{"input": true, "result": true, "details": true, "attributes": true}

func (f features) read(t *testing.T, of string, text []byte) {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(text, &value))
	f.walk(of, value)
}

func (f features) walk(of string, value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			f.walk(of, element)
		}
	case map[string]any:
		kind, _ := value["kind"].(string)
		switch {
		case of == "failure":
			f["failure="+kind] = true
			if which, ok := value["type"].(string); ok && kind == string(history.Timeout) {
				f["timeout="+which] = true
			}
		case kind != "":
			of = kind
		}
		for member, inner := range value {
			if member == "unit" { // what all commands may have
				f["command.unit"] = true
			} else {
				f[of+"."+member] = true
			}
			if word, ok := inner.(string); ok && choices[member] {
				f[member+"="+word] = true
			}
			if !theirs[member] {
				f.walk(strings.ReplaceAll(member, "cause", "failure"), inner)
			}
		}
	}
}

// known are the features that core/history has: its kinds and words are found in its sources, and the members by writing each
// kind with every field set.
func known(t *testing.T) features {
	t.Helper()
	all := features{}
	sources, err := filepath.Glob("../../core/history/*.go")
	require.NoError(t, err)
	kinds := 0
	for _, file := range sources {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`Kind\(\) string +\{ return "([a-z-]+)" \}`).FindAllStringSubmatch(string(text), -1) {
			all.read(t, "", full(t, match[1]))
			kinds++
		}
		for _, match := range regexp.MustCompile(`\w+ +(FailureKind|UpdatePhase|ParentClosePolicy|CancellationType) += "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			member := map[string]string{"FailureKind": "failure", "UpdatePhase": "phase", "ParentClosePolicy": "onClose", "CancellationType": "cancellation"}[match[1]]
			all[member+"="+match[2]] = true
		}
	}
	require.Equal(t, 24, kinds, "a kind was added: this number only tells that kinds are found")
	for _, which := range []string{history.ScheduleToStart, history.StartToClose, history.ScheduleToClose, history.Heartbeat, history.ScopeTimeout} {
		all["timeout="+which] = true
	}
	record := &history.Record{}
	fill(reflect.ValueOf(record).Elem(), 0)
	all.read(t, "records", history.AppendRecord(nil, record))
	delete(all, "failure=x") // what fill gives fields of text
	delete(all, "phase=x")
	delete(all, "onClose=x")
	delete(all, "cancellation=x")
	return all
}

// full is the stored form of an event or command with every field set.
func full(t *testing.T, kind string) []byte {
	t.Helper()
	bare := fmt.Appendf(nil, `{"kind":%q,"seq":1}`, kind)
	if event, err := history.DecodeEvent(bare); err == nil {
		fill(reflect.ValueOf(event).Elem(), 0)
		history.File(event, "f")
		return history.EncodeEvent(event)
	}
	command, err := history.DecodeCommand(bare)
	require.NoError(t, err)
	fill(reflect.ValueOf(command).Elem(), 0)
	command.Emitter("p0")
	return history.EncodeCommand(command)
}

// fill sets every exported field.
func fill(value reflect.Value, depth int) {
	const deepest = 4
	switch value.Interface().(type) {
	case history.Payload:
		value.SetBytes([]byte("1"))
		return
	case []history.Mail:
		value.Set(reflect.ValueOf([]history.Mail{history.NewSignal("x", "x", history.Payload("1"))}))
		return
	case time.Time:
		value.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Field(i).CanSet() {
				fill(value.Field(i), depth)
			} else if value.Type().Field(i).Anonymous && value.Field(i).Kind() == reflect.Struct {
				embedded(value.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if depth < deepest {
			value.Set(reflect.New(value.Type().Elem()))
			fill(value.Elem(), depth+1)
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() != reflect.Interface {
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			fill(value.Index(0), depth+1)
		}
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf(history.Payload("1")))
	case reflect.String:
		value.SetString("x")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int64:
		value.SetInt(2)
	case reflect.Uint64:
		value.SetUint(2)
	case reflect.Float64:
		value.SetFloat(2)
	}
}

// embedded sets the exported fields of an embedded struct whose type is not exported.
func embedded(value reflect.Value, depth int) {
	for i := range value.NumField() {
		if value.Field(i).CanSet() {
			fill(value.Field(i), depth)
		}
	}
}
