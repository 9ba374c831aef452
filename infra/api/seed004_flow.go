package api

import (
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
)

// flowKind is the kind of definitions that the routes of seed 004 are about.
const flowKind = "flow"

// randomFlow is how many random characters the id of a flow has: names of flows are not unique.
const randomFlow = 12

// seedCreateFlow makes the id of a flow. It stores nothing: the id itself contains the name, and is
// the name of the definition that the first version adds.
func seedCreateFlow(c *call) error {
	var body struct{ Name string }
	if err := c.readSeed(&body); err != nil {
		return err
	}
	id := flowID(body.Name, c.engine.NewID()[:randomFlow])
	if len(id) > port.LongestName {
		return invalid(fmt.Sprintf(
			"the name %.100q is too long: the id that contains it has %d bytes, the limit is %d",
			body.Name, len(id), port.LongestName))
	}
	return c.answerSeed(map[string]string{"id": id})
}

// flowID is the id of a flow: its name, a hyphen and random characters. Of the name, bytes other
// than a-z, A-Z, 0-9, dots, underscores and hyphens are written as ~ and two hexadecimal digits.
func flowID(name, random string) string {
	if name == "" {
		name = flowKind
	}
	var id strings.Builder
	for _, b := range []byte(name) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9',
			strings.IndexByte("._-", b) >= 0:
			id.WriteByte(b)
		default:
			fmt.Fprintf(&id, "~%02x", b)
		}
	}
	return id.String() + "-" + random
}

// seedPublish adds a version to a flow. The same number with the same text is fine.
func seedPublish(c *call) error {
	var body struct {
		FlowID, DefinitionJSON, Status string
		Version                        int
	}
	if err := c.readSeed(&body); err != nil {
		return err
	}
	switch {
	case body.FlowID == "":
		return missing("FlowID")
	case body.DefinitionJSON == "":
		return missing("DefinitionJSON")
	}
	definition, _, err := c.engine.Publish(c.r.Context(), engine.PublishRequest{
		Name: body.FlowID, Version: body.Version, Kind: flowKind, Source: body.DefinitionJSON,
		Draft: body.Status != string(port.DefinitionPublished), Publisher: c.caller()})
	if err != nil {
		return err
	}
	return c.answerSeed(map[string]string{
		"id":     versionID(definition.Name, definition.Version),
		"status": string(definition.Status)})
}

// versionID names a version of a flow.
func versionID(flow string, version int) string { return fmt.Sprintf("%s.%d", flow, version) }

// latestFlow is the version of a flow that starts run.
func (c *call) latestFlow(flow string) (*port.Definition, error) {
	latest, err := c.engine.Version(c.r.Context(), flow, 0)
	if err != nil && port.CodeOf(err) != port.NotFound {
		return nil, err
	}
	if err == nil && latest.Kind == flowKind {
		return latest, nil
	}
	return nil, failed500(port.NotFound, fmt.Sprintf(
		"no version of the flow %q is published: POST one to /flows/version", flow))
}
