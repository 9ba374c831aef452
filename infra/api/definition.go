package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

const (
	definitionsPath = "/v1/definitions"
	versionPath     = definitionsPath + "/{name}/versions/{version}"
	// latest names the highest version that is published.
	latest = "latest"
)

func definitionEndpoints() []endpoint {
	name, version := nameParam("definition", "order"), versionParam()
	return []endpoint{
		{method: http.MethodPost, path: definitionsPath, id: "publish-definition", role: All,
			summary: "Publish a version of a definition",
			describe: "The version never changes. Runs that begin from now on have it, and runs " +
				"that wait for a workflow of this name resume. " +
				"Runs that have begun stay on their versions. It is safe to repeat: the same " +
				"source is published once. " +
				"A source with mistakes is refused, and the problem lists all of them.",
			body: wire.PublishBody{},
			answers: map[int]reply{http.StatusCreated: {"The version was added.",
				wire.Definition{}, ""},
				http.StatusOK: {"This version with this source was there already.",
					wire.Definition{}, ""}},
			fails: []port.Code{port.Conflict}, serve: publishDefinition},
		{method: http.MethodPost, path: definitionsPath + "/validate", id: "validate-definition",
			summary:  "Check a source",
			describe: "It says what a publication would say of the source, and stores nothing.",
			body:     wire.ValidateBody{},
			answers: map[int]reply{http.StatusOK: {"Whether the source would be published, and " +
				"its mistakes.", wire.Validation{}, ""}},
			fails: []port.Code{port.Conflict}, serve: validateDefinition},
		{method: http.MethodGet, path: definitionsPath, id: "list-definitions",
			summary:  "List definitions",
			describe: "The highest version of each name, page by page.",
			params: []*huma.Param{queryParam("after", "Only names after this one: next of the "+
				"page before.", matching(plainPattern), nil)},
			answers: map[int]reply{http.StatusOK: {"One page.", wire.Definitions{}, ""}},
			serve:   listDefinitions},
		{method: http.MethodGet, path: definitionsPath + "/{name}", id: "list-versions",
			summary: "List the versions of a definition",
			params:  []*huma.Param{name},
			answers: map[int]reply{http.StatusOK: {"Its versions.", wire.Versions{}, ""}},
			fails:   []port.Code{port.NotFound},
			serve:   listVersions},
		{method: http.MethodGet, path: versionPath, id: "get-definition",
			summary: "Get a version of a definition",
			describe: fmt.Sprintf("A source of more than %d bytes is left out: "+
				"get-definition-source gives it.", port.LongestShown),
			params:  []*huma.Param{name, version},
			answers: map[int]reply{http.StatusOK: {"The version.", wire.Definition{}, ""}},
			fails:   []port.Code{port.NotFound},
			serve:   getDefinition},
		{method: http.MethodGet, path: versionPath + "/source", id: "get-definition-source",
			summary: "Read the source of a version, whole",
			describe: "The text is a JSON string. Where a gateway limits answers, it comes in " +
				"pieces: as long as an answer has the header " + wire.NextHeader +
				", the same request with that as after gives the next piece.",
			params: []*huma.Param{name, version, queryParam("after", afterParam("the source"),
				matching(spotPattern), nil)},
			answers: map[int]reply{http.StatusOK: {"The source, or a piece of its text.",
				json.RawMessage(nil), wire.NextHeader}},
			fails: []port.Code{port.NotFound, port.Conflict}, serve: getSource},
		{method: http.MethodPost, path: versionPath + "/retire", id: "retire-definition", role: All,
			summary:  "Have starts run a version no longer",
			describe: "Runs that have it continue.", params: []*huma.Param{name, version},
			answers: map[int]reply{http.StatusNoContent: {"It is retired.", nil, ""}},
			fails:   []port.Code{port.NotFound},
			serve:   retireDefinition},
		{method: http.MethodDelete, path: versionPath, id: "delete-definition", role: All,
			summary: "Delete a version that no run has",
			describe: "A version that is published is to be retired first. A version that a run " +
				"has, open or ended, is not deleted.",
			params:  []*huma.Param{name, version},
			answers: map[int]reply{http.StatusNoContent: {"It is deleted.", nil, ""}},
			fails:   []port.Code{port.NotFound, port.Conflict},
			serve:   deleteDefinition},
	}
}

func versionParam() *huma.Param {
	const digits = 9
	return pathParam("version",
		"The number of the version; "+latest+" is the highest that is published.", versionPattern, digits, 2)
}

// version is the one that the path names; 0 is the highest that is published.
func (c *call) version() (int, error) {
	given := c.r.PathValue("version")
	if given == latest {
		return 0, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 {
		return 0, invalid(fmt.Sprintf("%.100q is not a version: give its number, from 1, or %s",
			given, latest))
	}
	return n, nil
}

func publishDefinition(c *call) error {
	var body wire.PublishBody
	if err := c.read(&body); err != nil {
		return err
	}
	definition, created, err := c.engine.Publish(c.r.Context(),
		engine.PublishRequest{Name: body.Name, Version: body.Version, Kind: body.Kind,
			Source: body.Source, Draft: body.Draft, Publisher: c.caller()})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return c.answer(status, definitionOf(definition.About()))
}

func validateDefinition(c *call) error {
	var body wire.ValidateBody
	if err := c.read(&body); err != nil {
		return err
	}
	err := c.engine.Validate(engine.PublishRequest{Name: body.Name, Kind: body.Kind,
		Source: body.Source})
	problems := port.SourceProblems(nil)
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	return c.answer(http.StatusOK,
		wire.Validation{Valid: err == nil, Problems: problemsOf(problems)})
}

func listDefinitions(c *call) error {
	page, next, err := c.engine.Definitions(c.r.Context(), c.value("after"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, wire.Definitions{Definitions: definitionsOf(page), Next: next})
}

func listVersions(c *call) error {
	versions, err := c.engine.Versions(c.r.Context(), c.r.PathValue("name"))
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, wire.Versions{Versions: definitionsOf(versions)})
}

func getDefinition(c *call) error {
	version, err := c.version()
	if err != nil {
		return err
	}
	definition, err := c.engine.Definition(c.r.Context(), c.r.PathValue("name"), version)
	if err != nil {
		return err
	}
	if len(definition.Source) > port.LongestShown {
		definition = definition.About()
	}
	return c.answer(http.StatusOK, definitionOf(definition))
}

func getSource(c *call) error {
	version, err := c.version()
	if err != nil {
		return err
	}
	name := c.r.PathValue("name")
	return c.giveLong(&long{what: fmt.Sprintf("the source of version %s of definition %q",
		c.r.PathValue("version"), name), size: port.LongestSource,
		read: func() ([]byte, error) {
			definition, err := c.engine.Definition(c.r.Context(), name, version)
			if err != nil {
				return nil, err
			}
			return json.Marshal(definition.Source)
		}})
}

func retireDefinition(c *call) error {
	return c.onVersion(func(name string, version int) error {
		return c.engine.Retire(c.r.Context(), name, version)
	})
}

func deleteDefinition(c *call) error {
	return c.onVersion(func(name string, version int) error {
		return c.engine.DeleteDefinition(c.r.Context(), name, version)
	})
}

// onVersion changes a version, which the path must name by its number.
func (c *call) onVersion(change func(name string, version int) error) error {
	version, err := c.version()
	switch {
	case err != nil:
		return err
	case version == 0:
		return invalid("say which version by its number: " + latest +
			" may be another one when this request is served")
	}
	if err := change(c.r.PathValue("name"), version); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}
