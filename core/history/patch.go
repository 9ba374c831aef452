package history

import "strconv"

// MarkPatch says that the run follows the new code behind a patch. A deprecated mark no longer has old code beside it.
type MarkPatch struct {
	emitted
	ID         string
	Deprecated bool
}

func (*MarkPatch) Kind() string { return "mark-patch" }
func (c *MarkPatch) Fields() []Field {
	return []Field{{"id", c.ID}, {"deprecated", strconv.FormatBool(c.Deprecated)}}
}

func (c *MarkPatch) write(w *writer) {
	w.text("id", c.ID)
	w.flagIf("deprecated", c.Deprecated)
}

func (c *MarkPatch) read(key []byte, r *reader) {
	switch string(key) {
	case "id":
		c.ID = r.text()
	case "deprecated":
		c.Deprecated = r.flag()
	default:
		r.skip()
	}
}
