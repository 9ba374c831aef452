package history

import (
	"fmt"
	"maps"
	"slices"
)

// ExportVersion is the version of an [Export]'s own form; its records carry theirs. A reader reads every version up to its own.
const ExportVersion = 1

// Export is the log of one generation as it is handed around: to replay it against new code, to keep it in a corpus, to
// look at it. Of a run that was reset, it holds all records that count, those of the earlier generation first.
type Export struct {
	Run        string
	Generation int
	Workflow   string
	// Keys are those that its payloads are sealed with, by id, as a key service has wrapped them: where there is one, an export
	// needs nothing beside it to be opened. See core/seal.
	Keys map[string]string
	// Definition is the published definition whose code the records are of. Nil: the program's own
	// code was run.
	Definition *ExportedDefinition
	Records    []*Record
}

// ExportedDefinition is a version of a published definition, for a replay.
type ExportedDefinition struct {
	Version int
	// Kind and Source are empty if the version was deleted.
	Kind   string
	Source string
}

// AppendExport appends the JSON form: one object, with a record on each line, so that two exports can be compared by lines.
func AppendExport(out []byte, e *Export) []byte { return Encoder{}.AppendExport(out, e) }

// AppendExport appends the JSON form.
func (e Encoder) AppendExport(out []byte, export *Export) []byte {
	w := e.writer(out)
	w.begin()
	w.int("format", ExportVersion)
	w.text("run", export.Run)
	w.int("generation", int64(export.Generation))
	w.text("workflow", export.Workflow)
	if len(export.Keys) > 0 {
		w.name("keys")
		w.begin()
		for _, id := range slices.Sorted(maps.Keys(export.Keys)) {
			w.separate()
			w.element(id)
			w.out = append(w.out, ':')
			w.comma = false
			w.element(export.Keys[id])
		}
		w.end()
	}
	if d := export.Definition; d != nil {
		w.name("definition")
		w.begin()
		w.int("version", int64(d.Version))
		w.textIf("kind", d.Kind)
		w.wordsIf("source", d.Source)
		w.end()
	}
	w.name("records")
	w.beginList()
	for _, rec := range export.Records {
		w.separate()
		w.out = append(w.out, '\n')
		w.out = e.AppendRecord(w.out, rec)
		w.comma = true
	}
	w.out = append(w.out, '\n')
	w.endList()
	w.end()
	return append(w.out, '\n')
}

// DecodeExport reads the JSON form. Payloads are slices of data, which must not change afterwards. Errors are [ErrUnreadable].
func DecodeExport(data []byte) (*Export, error) { return new(Decoder).Export(data) }

// Export reads an exported history.
func (d *Decoder) Export(data []byte) (*Export, error) {
	r := &reader{data: data, names: &d.names, fetch: d.Fetch}
	e, err := readExport(r)
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: exported history: %w", ErrUnreadable, err)
	}
	return e, nil
}

func readExport(r *reader) (*Export, error) {
	e := &Export{}
	format := int64(0)
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "format":
			if format = r.int(); format > ExportVersion {
				return nil, fmt.Errorf("format %d, this program reads formats up to %d: it was written by a newer one", format, ExportVersion)
			}
		case "run":
			e.Run = r.text()
		case "generation":
			e.Generation = int(r.int())
		case "workflow":
			e.Workflow = r.name()
		case "keys":
			e.Keys = map[string]string{}
			r.authors = true // no key's id ends with a mark of ours
			for id, more := r.first(); more; id, more = r.next() {
				name := string(id)
				e.Keys[name] = r.text()
			}
			r.authors = false
		case "definition":
			e.Definition = readExportedDefinition(r)
		case "records":
			for more := r.enter(); more; more = r.element() {
				rec, err := readRecord(r)
				if err != nil {
					return nil, err
				}
				e.Records = append(e.Records, rec)
			}
		default:
			r.skip()
		}
	}
	if format < 1 {
		r.fail(`no format: "format" is missing, or less than 1`)
	}
	return e, nil
}

func readExportedDefinition(r *reader) *ExportedDefinition {
	d := &ExportedDefinition{}
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "version":
			d.Version = int(r.int())
		case "kind":
			d.Kind = r.text()
		case "source":
			d.Source = r.words()
		default:
			r.skip()
		}
	}
	return d
}
