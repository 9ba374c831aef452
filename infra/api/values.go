package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func valueEndpoint() endpoint {
	names := make([]any, 0, len(port.Values()))
	for _, name := range port.Values() {
		names = append(names, name)
	}
	return endpoint{method: http.MethodGet, path: "/v1/runs/{run}/values/{value}", id: "get-value",
		summary: "Read a value of a run, whole",
		describe: "Summaries leave long values out, and name them under large. The text is the " +
			"value's JSON. Where a gateway limits answers, it comes " +
			"in pieces: as long as an answer has the header " + wire.NextHeader +
			", the same request with that as after gives the next piece.",
		params: []*huma.Param{runParam(), {Name: "value", In: "path", Required: true,
			Description: "Which value.", Example: "result",
			Schema: &huma.Schema{Type: huma.TypeString, Enum: names}},
			queryParam("after", afterParam("the value"), matching(spotPattern), nil)},
		answers: map[int]reply{http.StatusOK: {"The value, or a piece of its text.",
			json.RawMessage(nil), wire.NextHeader}},
		fails: []port.Code{port.NotFound, port.Conflict, port.Blocked}, serve: getValue}
}

// spot is a place in the text of a value, which tells the value from another one that has taken its
// place.
type spot struct {
	sum   uint32
	bytes int
}

func (s spot) String() string { return fmt.Sprintf("%08x.%d", s.sum, s.bytes) }

func parseSpot(given string) (s spot, err error) {
	if given == "" {
		return s, nil
	}
	const hexadecimal, bits, digits = 16, 32, 8
	if len(given) > digits && given[digits] == '.' {
		var sum uint64
		sum, err = strconv.ParseUint(given[:digits], hexadecimal, bits)
		if err == nil {
			s.sum = uint32(sum)
			s.bytes, err = strconv.Atoi(given[digits+1:])
		}
	}
	if err != nil || s.bytes < 0 || s.String() != given {
		return spot{}, invalid(fmt.Sprintf("%.100q is not a place in a value: take it from the "+
			"header %s of the piece before", given, wire.NextHeader))
	}
	return s, nil
}

func getValue(c *call) error {
	run, name := c.r.PathValue("run"), c.r.PathValue("value")
	size, err := c.engine.SizeOfSummary(c.r.Context(), run)
	if err != nil {
		return err
	}
	return c.giveLong(&long{what: fmt.Sprintf("the %s of run %q", name, run), size: size,
		read: func() ([]byte, error) {
			summary, err := c.engine.Get(c.r.Context(), run)
			if err != nil {
				return nil, err
			}
			return summary.Value(name)
		}})
}
