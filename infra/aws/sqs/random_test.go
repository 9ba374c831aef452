package sqs_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// random makes values of every field of every kind, as reflection finds them: a field that is new in the engine is tested
// before anybody thinks of it.
type random struct {
	*rand.Rand
	filled map[string]bool // fields that were given another value than zero
}

var kinds = []history.Event{&history.Started{}, &history.ActivityResolved{}, &history.TimerFired{}, &history.ChildResolved{},
	&history.SignalReceived{}, &history.UpdateReceived{}, &history.CancelRequested{}, &history.TerminateRequested{}, &history.ResetRequested{}}

// letters are what a start may carry.
var letters = []history.Event{&history.SignalReceived{}, &history.UpdateReceived{}}

func (r *random) fill(v reflect.Value, depth int) {
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).UTC()
		return
	case *history.Payload:
		*value = r.payload()
		return
	case *history.Event:
		*value = r.event(kinds[r.IntN(len(kinds))], depth)
		return
	case *history.Mail:
		*value = r.event(letters[r.IntN(len(letters))], depth).(history.Mail)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(r.text())
	case reflect.Int, reflect.Int64:
		v.SetInt(2 + r.Int64N(1<<40)>>r.IntN(40)) // an attempt's number of 1 is not written
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Float64:
		v.SetFloat(r.ExpFloat64() + 1e-9)
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Pointer:
		if r.IntN(3) > 0 && depth < 9 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		for range r.IntN(3) {
			one := reflect.New(v.Type().Elem()).Elem()
			if one.Kind() == reflect.Pointer { // no list has holes
				one.Set(reflect.New(one.Type().Elem()))
				r.fill(one.Elem(), depth+1)
			} else {
				r.fill(one, depth+1)
			}
			v.Set(reflect.Append(v, one))
		}
	case reflect.Map:
		if r.IntN(2) == 0 {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("a"+r.text()), reflect.ValueOf(r.payload()))
		}
	case reflect.Struct:
		r.fields(v, depth)
	default:
		panic("no random value of " + v.Type().String())
	}
}

func (r *random) fields(v reflect.Value, depth int) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Name == "Large" { // it is not stored
			r.filled[v.Type().Name()+"."+field.Name] = true
			continue
		}
		if !field.IsExported() && !field.Anonymous || !v.Field(i).CanSet() && field.Type.Kind() != reflect.Struct {
			continue
		}
		if !v.Field(i).CanSet() { // an embedded struct, whose exported fields are its owner's
			r.fields(v.Field(i), depth)
			continue
		}
		r.fill(v.Field(i), depth+1)
		if !v.Field(i).IsZero() {
			r.filled[v.Type().Name()+"."+field.Name] = true
		}
	}
}

// event is one of the same kind.
func (r *random) event(kind history.Event, depth int) history.Event {
	event := reflect.New(reflect.TypeOf(kind).Elem())
	r.fill(event.Elem(), depth+1)
	filed := event.Interface().(history.Event)
	history.File(filed, r.text())
	return filed
}

func (r *random) text() string {
	pieces := []string{"a", "Z", "9", " ", "-", "\"", "\\", "<", "&", "é", "日", "🙂", "\n", "\x00", "\x1f", "\u007f", "\u0085", "\u2028", "\uFFFD", "\uFFFE", "\uFFFF", "\U0010FFFF"}
	var text strings.Builder
	for range r.IntN(6) {
		text.WriteString(pieces[r.IntN(len(pieces))])
	}
	return text.String()
}

// payload is one of the values that there are; now and then a long one, or one that is not as encoding/json would write it.
func (r *random) payload() history.Payload {
	switch r.IntN(12) {
	case 0:
		return history.Payload(`"` + strings.Repeat("long ", 8000+r.IntN(10)) + `"`)
	case 1:
		return history.Payload("{ \"a\" :\n[1,\t2.50e+1 ],\"<&>\":\"\u2028\uFFFF\"}")
	case 2:
		return history.Payload("\"\xff\xfe is not UTF-8\"")
	case 3:
		return history.Payload(`[` + strings.TrimSuffix(strings.Repeat(`"hard`+fmt.Sprint(r.Uint64())+`",`, 1000), ",") + `]`)
	}
	return history.Payload(fmt.Sprint(r.Int64()))
}
