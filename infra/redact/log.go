package redact

import (
	"context"
	"encoding/json"
	"log/slog"
)

// Handler hands log records on with values hidden: in messages, in texts and errors, and in whatever is logged as JSON would have it.
// An attribute of a name that fits is hidden as a whole.
func (r *Redactor) Handler(next slog.Handler) slog.Handler { return handler{r, next} }

type handler struct {
	r    *Redactor
	next slog.Handler
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.r.Text(record.Message), record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(h.r.attr(attr))
		return true
	})
	return h.next.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.r, h.next.WithAttrs(h.r.attrs(attrs))}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.r, h.next.WithGroup(name)} }

func (r *Redactor) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, attr := range attrs {
		clean[i] = r.attr(attr)
	}
	return clean
}

func (r *Redactor) attr(attr slog.Attr) slog.Attr {
	attr.Value = attr.Value.Resolve()
	switch value := attr.Value; {
	case attr.Key != "" && r.Key(attr.Key):
		attr.Value = slog.StringValue(Hidden)
	case value.Kind() == slog.KindString:
		attr.Value = slog.StringValue(r.Text(value.String()))
	case value.Kind() == slog.KindGroup:
		attr.Value = slog.GroupValue(r.attrs(value.Group())...)
	case value.Kind() == slog.KindAny:
		attr.Value = r.any(value)
	}
	return attr
}

// any leaves a value as it is, if nothing of it is to be hidden.
func (r *Redactor) any(value slog.Value) slog.Value {
	text := ""
	switch given := value.Any().(type) {
	case nil:
		return value
	case error:
		text = given.Error()
	case []byte:
		text = string(given)
	default:
		written, err := json.Marshal(given)
		if err != nil { // then it would not be logged as JSON either
			return slog.StringValue(r.Text(value.String()))
		}
		text = string(written)
	}
	if clean := r.Text(text); clean != text {
		return slog.StringValue(clean)
	}
	if _, raw := value.Any().([]byte); raw {
		return value
	}
	if printed := value.String(); r.Text(printed) != printed { // a text handler prints what JSON leaves out
		return slog.StringValue(r.Text(printed))
	}
	return value
}
