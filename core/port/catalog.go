package port

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Catalog keeps published definitions: source texts that are interpreted as workflows. All reads
// are strongly consistent.
type Catalog interface {
	// PutDefinition adds a version of a name. ErrTaken if the name has that version, or had it with
	// another hash.
	PutDefinition(ctx context.Context, definition *Definition) error
	// SetDefinitionStatus changes the status of a version, and nothing else. ErrNoDefinition if there
	// is none.
	SetDefinitionStatus(ctx context.Context, name string, version int, status DefinitionStatus) error
	// FindDefinition gives a version without its source. Version 0 is the highest one that is
	// published. ErrNoDefinition if there is none.
	FindDefinition(ctx context.Context, name string, version int) (*Definition, error)
	// Definition gives a version with its source. ErrNoDefinition if there is none;
	// history.ErrUnreadable if its source cannot be read.
	Definition(ctx context.Context, name string, version int) (*Definition, error)
	// Versions gives the versions of a name without their sources, the highest first. Those that
	// were deleted are among them, with the status [DefinitionDeleted].
	Versions(ctx context.Context, name string) ([]*Definition, error)
	// Names gives the names that have versions, sorted, after one; one page of them, none at the end.
	Names(ctx context.Context, after string) ([]string, error)
	// DeleteDefinition deletes the source of a version, which is then not there for all methods but
	// Versions. The number stays taken, so that it never stands for two sources. It is no error if
	// the version is not there.
	DeleteDefinition(ctx context.Context, name string, version int) error
}

// Definition is one version of a published definition. All but its status is immutable.
type Definition struct {
	// Name is the workflow's: runs are started under it.
	Name string `json:"name"`
	// Version counts from 1. A name may lack some.
	Version int `json:"version"`
	// Kind says what interprets the source: flow, script or array.
	Kind   string           `json:"kind"`
	Status DefinitionStatus `json:"status"`
	// Hash is the SHA-256 of kind and source, in hexadecimal: see [HashDefinition].
	Hash string `json:"hash"`
	// Bytes is how long the source is.
	Bytes int `json:"bytes"`
	// Publisher is who published it, as the API knows callers; "" where it asks no one.
	Publisher string    `json:"publisher,omitempty"`
	Published time.Time `json:"published"`
	// Source is left out of listings.
	Source string `json:"source,omitempty"`
}

// DefinitionStatus says what a version may be used for.
type DefinitionStatus string

const (
	// DefinitionDraft: only a start that names the version runs it.
	DefinitionDraft DefinitionStatus = "draft"
	// DefinitionPublished: starts run the highest version that is published.
	DefinitionPublished DefinitionStatus = "published"
	// DefinitionRetired: no start of a caller runs it. Runs of this version continue.
	DefinitionRetired DefinitionStatus = "retired"
	// DefinitionDeleted: its source is gone, and its number is taken. The engine shows it to no
	// caller.
	DefinitionDeleted DefinitionStatus = "deleted"
)

// LongestSource is how many bytes a source has at most: 4 MB.
const LongestSource = 4 << 20

// ErrNoDefinition is the error of a catalog that has no such definition.
var ErrNoDefinition = errors.New("no such definition")

// HashDefinition is the hash of a kind and a source, in hexadecimal.
func HashDefinition(kind, source string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + source))
	return hex.EncodeToString(sum[:])
}

// Key is what stands for the definition's name where a run's id stands for a run: its source is
// sealed, and kept elsewhere, under it. No run's id begins so.
func (d *Definition) Key() string { return "definition\n" + d.Name }

// About is all of the definition but its source, as listings give it.
func (d *Definition) About() *Definition {
	about := *d
	about.Source = ""
	return &about
}

type storedDefinition struct {
	Definition
	Source history.Payload `json:"source,omitempty"`
	Away   away            `json:"away,omitempty"`
}

// EncodeDefinition gives the stored form of a definition.
func EncodeDefinition(e history.Encoder, definition *Definition) ([]byte, error) {
	stored := storedDefinition{Definition: *definition}
	var err error
	if stored.Source, err = history.Encode(definition.Source); err != nil {
		return nil, err
	}
	stored.Away.send(e, "source", &stored.Source)
	return history.Marshal(&stored)
}

// DecodeDefinition reads it back.
func DecodeDefinition(d *history.Decoder, text []byte) (*Definition, error) {
	stored := &storedDefinition{}
	err := json.Unmarshal(text, stored)
	if err != nil {
		return nil, fmt.Errorf("%w: a definition: %w", history.ErrUnreadable, err)
	}
	if len(stored.Source) > 0 {
		err = decodeAway(stored.Source, "source", &stored.Definition.Source)
	}
	if err == nil {
		err = stored.Away.fetchAs(d, "source", &stored.Definition.Source)
	}
	if err != nil {
		return nil, fmt.Errorf("definition %q, version %d: %w", stored.Name, stored.Version, err)
	}
	return &stored.Definition, nil
}

// SourceProblem is a mistake in the source of a definition.
type SourceProblem struct {
	// Pointer is the place, as a JSON pointer (RFC 6901). Empty: the source as a whole.
	Pointer string
	// Message names the mistake and the remedy.
	Message string
	// Line and Column are the place in a source that is text, from 1. Zero: the pointer says it, or
	// the problem is of the source as a whole.
	Line, Column int
}

// SourceProblems are the mistakes of a source, and the error of an interpreter that refuses it.
type SourceProblems []SourceProblem

// Error lists the problems, one in each line.
func (p SourceProblems) Error() string {
	lines := make([]string, 0, len(p)+1)
	if len(p) > 1 {
		lines = append(lines, fmt.Sprintf("the source has %d problems:", len(p)))
	}
	for _, problem := range p {
		lines = append(lines, strings.TrimPrefix(problem.Pointer+": "+problem.Message, ": "))
	}
	return strings.Join(lines, "\n")
}
