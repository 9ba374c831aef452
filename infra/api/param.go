package api

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/port"
)

func invalid(message string) error { return &port.Error{Code: port.Invalid, Message: message} }

func pathParam(name, describe, pattern string, most int, example any) *huma.Param {
	least := 1
	return &huma.Param{Name: name, In: "path", Required: true, Description: describe, Example: example,
		Schema: &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most, Pattern: pattern}}
}

func queryParam(name, describe string, schema *huma.Schema, example any) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: describe, Schema: schema, Example: example}
}

func text() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

func whole(least float64) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Minimum: &least}
}

func runParam() *huma.Param {
	return pathParam("run", "The run's id.", idPattern, port.LongestID, "order-17")
}

func nameParam(what, example string) *huma.Param {
	return pathParam("name", "The name of the "+what+".", plainPattern, port.LongestName, example)
}

func tokenParam() *huma.Param {
	const longest = 4096
	return pathParam("token", "What activity.Token gave.", tokenPattern, longest, "eyJydW4iOiJvcmRlci0xNyJ9")
}

func waitParam(what string) *huma.Param {
	return queryParam("wait", "How long to wait "+what+", as a duration: 500ms, 30s. Where it is longer than the server allows, the answer comes earlier.",
		matching(durationPattern), "30s")
}

func generationParam() *huma.Param {
	return queryParam("generation", "Which generation. Without it: the current one.", whole(0), 1)
}

// readQuery reads the address's query. What the endpoint does not know is refused: a misspelt wait would not wait.
func (c *call) readQuery() error {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return invalid("the query of the address cannot be read: " + err.Error())
	}
	var known []string
	for _, param := range c.endpoint.params {
		if param.In != "query" {
			continue
		}
		if known = append(known, param.Name); len(values[param.Name]) > 1 && param.Schema.Type != huma.TypeArray {
			return invalid("parameter " + param.Name + " is given more than once")
		}
	}
	names := make([]string, 0, len(values))
	for name := range values { // order-insensitive: the names are sorted
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			takes := "none"
			if len(known) > 0 {
				takes = strings.Join(known, ", ")
			}
			return invalid("unknown parameter " + strconv.Quote(name) + ": " + c.endpoint.method + " " + c.endpoint.path + " takes " + takes)
		}
	}
	c.queried = values
	return nil
}

// value of a query parameter; empty if it is not given.
func (c *call) value(name string) string {
	if given := c.queried[name]; len(given) > 0 {
		return given[0]
	}
	return ""
}

func (c *call) number(name string) (int, error) {
	given := c.value(name)
	if given == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 {
		return 0, invalid("parameter " + name + " must be a whole number from 0, not " + strconv.Quote(given))
	}
	return n, nil
}

func (c *call) flag(name string) (bool, error) {
	switch given := c.value(name); given {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, invalid("parameter " + name + " must be true or false, not " + strconv.Quote(given))
	}
}

// wait gives how long the caller would wait: zero if it would not.
func (c *call) wait() (time.Duration, error) {
	given := c.value("wait")
	if given == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(given)
	if err != nil || wait < 0 {
		return 0, invalid("parameter wait must be a duration such as 500ms or 30s, not " + strconv.Quote(given))
	}
	return min(wait, c.config.LongestWait), nil
}

// patience is a context that ends with the request, the wait, or the server. There is none where too many wait already.
func (c *call) patience(wait time.Duration) (ctx context.Context, end func(), ok bool) {
	if !c.rooms.waits.take(1) {
		return nil, nil, false
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), wait)
	stop := context.AfterFunc(c.waits, cancel)
	return ctx, func() {
		stop()
		cancel()
		c.rooms.waits.give(1)
	}, true
}
