package wire

import "time"

// PublishBody is the body of a publication.
type PublishBody struct {
	Name    string `json:"name" minLength:"1" maxLength:"100" doc:"The workflow that the definition makes: runs are started under this name." example:"order"`
	Kind    string `json:"kind" minLength:"1" doc:"What interprets the source. get-info lists the kinds." example:"flow"`
	Source  string `json:"source" minLength:"1" doc:"The source text, of at most 4 MB." example:"{\"start\":\"pause\",\"nodes\":{\"pause\":{\"kind\":\"timer\",\"params\":{\"delay_ms\":1000}}}}"`
	Version int    `json:"version,omitempty" minimum:"1" doc:"The number of the version. Without it, the number after the highest; a source that the highest version has is that version." example:"2"`
	Draft   bool   `json:"draft,omitempty" doc:"Only starts that name this version run it. Publishing it again, not as a draft, has all starts run it."`
}

// ValidateBody is the body of a check that stores nothing.
type ValidateBody struct {
	Name   string `json:"name" minLength:"1" maxLength:"100" doc:"The workflow that the definition would make." example:"order"`
	Kind   string `json:"kind" minLength:"1" doc:"What interprets the source. get-info lists the kinds." example:"flow"`
	Source string `json:"source" minLength:"1" doc:"The source text, of at most 4 MB." example:"{\"start\":\"pause\",\"nodes\":{\"pause\":{\"kind\":\"timer\",\"params\":{\"delay_ms\":1000}}}}"`
}

// Validation is the answer to a check.
type Validation struct {
	Valid    bool            `json:"valid" doc:"The source would be published." example:"false"`
	Problems []SourceProblem `json:"problems" doc:"All mistakes of the source."`
}

// SourceProblem is a mistake in a source.
type SourceProblem struct {
	Pointer string `json:"pointer" doc:"The place in the source, as a JSON pointer (RFC 6901); empty: the source as a whole." example:"/nodes/pay/kind"`
	Message string `json:"message" doc:"The mistake and the remedy." example:"unknown kind \"timr\"; did you mean \"timer\"?"`
	Line    int    `json:"line,omitempty" doc:"The line of a source that is not JSON, from 1; missing: the source as a whole."`
	Column  int    `json:"column,omitempty" doc:"The column in the line, from 1."`
}

// Definition is one version of a published definition.
type Definition struct {
	Name      string    `json:"name" doc:"The workflow that the definition makes." example:"order"`
	Version   int       `json:"version" doc:"The number of the version, from 1." example:"2"`
	Kind      string    `json:"kind" doc:"What interprets the source." example:"flow"`
	Status    string    `json:"status" enum:"draft,published,retired" doc:"draft: only starts that name the version run it. published: starts run the highest version of this status. retired: no start runs it." example:"published"`
	Hash      string    `json:"hash" doc:"The SHA-256 of the kind, a zero byte and the source, in hexadecimal." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	Bytes     int       `json:"bytes" doc:"How long the source is." example:"812"`
	Publisher string    `json:"publisher,omitempty" doc:"The name of the token that published it, or the ARN of the caller; missing where callers need no token." example:"ada"`
	Published time.Time `json:"published" doc:"When it was published first." example:"2026-01-01T00:00:00Z"`
	Source    string    `json:"source,omitempty" doc:"The source text. Lists leave it out, and get-definition does where it is long: get-definition-source gives it."`
}

// Definitions is one page of the definitions that there are.
type Definitions struct {
	Definitions []*Definition `json:"definitions" doc:"The highest version of each name, whatever its status, sorted by name."`
	Next        string        `json:"next,omitempty" doc:"What to give as after for the next page; missing on the last one."`
}

// Versions are those of one definition.
type Versions struct {
	Versions []*Definition `json:"versions" doc:"All versions of the name, the highest first."`
}
