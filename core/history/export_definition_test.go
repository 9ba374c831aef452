package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// An export keeps the definition to the byte. Where payloads go elsewhere, so does the source.
func TestAnExportKeepsItsDefinition(t *testing.T) {
	export := &history.Export{Run: "r", Generation: 1, Workflow: "w",
		Definition: &history.ExportedDefinition{Version: 7, Kind: "flow",
			Source: "{\"ü\":\n\"<>\"}"}}
	text := history.AppendExport(nil, export)
	read, err := history.DecodeExport(text)
	require.NoError(t, err)
	require.Equal(t, export, read)

	var place history.Payload
	sealed := history.Encoder{Texts: true, Away: func(payload history.Payload) (string, bool) {
		place = payload
		return "away", true
	}}.AppendExport(nil, export)
	require.NotContains(t, string(sealed), "ü")
	_, err = history.DecodeExport(sealed)
	require.ErrorIs(t, err, history.ErrUnreadable)
	opened, err := (&history.Decoder{Fetch: func(string) (history.Payload, error) {
		return place, nil
	}}).Export(sealed)
	require.NoError(t, err)
	require.Equal(t, export, opened)

	newer := strings.Replace(string(text), `"version":7`, `"version":7,"more":{"a":[1]}`, 1)
	read, err = history.DecodeExport([]byte(newer))
	require.NoError(t, err)
	require.Equal(t, export, read, "what a newer program adds is passed over")
}
