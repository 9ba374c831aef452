package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// pieces asks for an export piece by piece, as the client does.
func (w *world) pieces(run, query string) (all []string) {
	w.Helper()
	for {
		response, text := w.call(http.MethodGet, "/v1/runs/"+run+"/export"+query, "")
		require.Equal(w, http.StatusOK, response.StatusCode, text)
		require.Equal(w, "application/json", response.Header.Get("Content-Type"))
		require.LessOrEqual(w, len(text), 1_000_010)
		require.True(w, utf8.ValidString(text), "a letter is cut")
		all = append(all, text)
		next := response.Header.Get("Reprise-Next")
		if next == "" {
			return all
		}
		query = "?after=" + next
	}
}

// exportOf checks that the pieces are the export that history writes, and what the client gives; and gives it.
func (w *world) exportOf(run string, generation, pieces int) *history.Export {
	w.Helper()
	all := w.pieces(run, fmt.Sprint("?generation=", generation))
	require.Equal(w, pieces, len(all)) // Len would print them
	text := strings.Join(all, "")
	log, err := history.DecodeExport([]byte(text))
	require.NoError(w, err)
	require.True(w, string(history.AppendExport(nil, log)) == text, "the pieces do not fit together")
	var given bytes.Buffer
	require.NoError(w, w.client.Export(w.Context(), run, generation, &given))
	require.True(w, given.String() == text, "the client gives another text")
	return log
}

func TestExportInPieces(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"small","workflow":"echo","input":1}`)
	require.Len(t, w.exportOf("small", 1, 1).Records, 1)

	// One record that is longer than a piece: its input and its result have 2.4 MB each, in letters of two bytes.
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"long","workflow":"echo","input":"`+strings.Repeat("aä\\\"é", 350_000)+`"}`)
	require.Len(t, w.exportOf("long", 1, 5).Records, 1)

	// Many records, and a generation that goes on from those of another.
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	note := `{"input":"` + strings.Repeat("x", 70_000) + `"}`
	for i := range 40 {
		w.ok(202, "POST", "/v1/runs/b/signals/note", note)
		w.ok(200, "POST", "/v1/runs/b/updates/add?wait=5s", fmt.Sprintf(`{"input":%d}`, i))
	}
	whole := w.exportOf("b", 1, 3)
	require.GreaterOrEqual(t, len(whole.Records), 40)
	w.ok(202, "POST", "/v1/runs/b/reset", `{"record":30}`)
	require.Eventually(t, func() bool { return w.ok(200, "GET", "/v1/runs/b", "")["generation"] == 2.0 }, 5*time.Second, time.Millisecond)
	w.ok(202, "POST", "/v1/runs/b/signals/approve", `{"input":"yes"}`)
	w.ok(200, "GET", "/v1/runs/b?wait=5s", "")
	again := w.exportOf("b", 2, 3)
	for i := range 30 {
		require.Equal(t, history.AppendRecord(nil, whole.Records[i]), history.AppendRecord(nil, again.Records[i]))
	}

	page, err := w.client.History(t.Context(), "b", 1, 0)
	require.NoError(t, err)
	require.Less(t, len(page.Records), 30, "a page of the history has an end, too")
	require.Equal(t, len(page.Records), page.Next)
	count := 0
	for _, err := range w.client.Records(t.Context(), "b", 1) {
		require.NoError(t, err)
		count++
	}
	require.Equal(t, len(w.exportOf("b", 1, 3).Records), count)
}

func TestLongestAnswer(t *testing.T) {
	w := start(t, func(c *api.Config) { c.LongestAnswer = 2000 })
	value := strings.Repeat("x", 600)
	for i := range 5 {
		w.ok(201, "POST", "/v1/runs?wait=5s", fmt.Sprintf(`{"run":"e%d","workflow":"echo","input":%q}`, i, value[:200]))
	}
	page := w.ok(200, "GET", "/v1/runs?limit=5", "")
	require.Len(t, page["runs"], 2, "as many as fit")
	var ids []string
	for run, err := range w.client.All(t.Context(), port.ListQuery{}) {
		require.NoError(t, err)
		ids = append(ids, run.Run)
	}
	require.Equal(t, []string{"e4", "e3", "e2", "e1", "e0"}, ids)

	p := w.problem("POST", "/v1/runs?wait=5s", `{"run":"long","workflow":"echo","input":"`+strings.Repeat(value, 2)+`"}`)
	require.Regexp(t, `^413 too-large: it was done, but the answer has \d+ bytes, and no more than 2000 can be given here: get-value and get-record give values in pieces, and so does a run's export$`,
		fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail))
	p = w.problem("GET", "/v1/runs/long", "")
	require.Regexp(t, `^the answer has \d+ bytes`, p.Detail)
	require.Equal(t, port.TooLarge, w.problem("GET", "/v1/runs", "").Code,
		"one run alone is too long")
	w.exportOf("long", 1, 1)
	require.Equal(t, "Reprise-Next", wire.NextHeader)
}
