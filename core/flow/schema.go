package flow

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of definitions, for editors. What it refuses, Parse
// refuses. Parse also checks what a schema cannot say.
//
//go:embed schema.json
var Schema []byte
