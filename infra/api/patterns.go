package api

import "github.com/danielgtaylor/huma/v2"

// Patterns of strings in requests, for the document: tools that check or draw requests need them.
// The engine refuses what does not match. They mean the same in Go and in ECMAScript.
const (
	plainPattern     = `^[^\x00-\x1f\x7f-\x9f]+$`
	idPattern        = `^(\.{0,2}[^./#\x00-\x1f\x7f-\x9f]|\.{3})[^/#\x00-\x1f\x7f-\x9f]*$` // not . or .. alone
	tokenPattern     = `^[A-Za-z0-9_-]+$`
	attributePattern = `^[^=\x00-\x1f\x7f-\x9f]+=.+$`
	versionPattern   = `^(latest|[1-9][0-9]*)$`
	spotPattern      = `^[0-9a-f]{8}\.(0|[1-9][0-9]*)$`
	durationPattern  = `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
)

func matching(pattern string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: pattern}
}
