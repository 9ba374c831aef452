package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/reprise-run/reprise/infra/api/wire"
)

// Published is the answer to a publication.
type Published struct {
	*wire.Definition
	// Created is false where this version with this source was there already.
	Created bool `json:"created"`
}

// Publish publishes a version of a definition. It is safe to repeat. Of a source with mistakes, the
// error is a [*Problem] that lists them.
func (c *Client) Publish(ctx context.Context, publish wire.PublishBody) (*Published, error) {
	published := &Published{Definition: &wire.Definition{}}
	got, err := c.do(ctx, request{method: http.MethodPost, path: path("definitions"),
		body: &publish}, published.Definition)
	if err != nil {
		return nil, err
	}
	published.Created = got.status == http.StatusCreated
	return published, nil
}

// Validate checks a source as [Client.Publish] does, and stores nothing.
func (c *Client) Validate(
	ctx context.Context, validate wire.ValidateBody,
) (*wire.Validation, error) {
	validation := &wire.Validation{}
	_, err := c.do(ctx, request{method: http.MethodPost, path: path("definitions", "validate"),
		body: &validate}, validation)
	return validation, err
}

// Definitions gives one page of the names after one, each with its highest version, without
// sources. Begin with "", and continue with Next until it is empty.
func (c *Client) Definitions(ctx context.Context, after string) (*wire.Definitions, error) {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	page := &wire.Definitions{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("definitions"), query: query},
		page)
	return page, err
}

// Versions gives the versions of a definition without their sources, the highest first.
func (c *Client) Versions(ctx context.Context, name string) ([]*wire.Definition, error) {
	versions := wire.Versions{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("definitions", name)}, &versions)
	return versions.Versions, err
}

// Definition gives a version with its source. Version 0 is the highest that is published.
func (c *Client) Definition(
	ctx context.Context, name string, version int,
) (*wire.Definition, error) {
	definition := &wire.Definition{}
	if _, err := c.do(ctx, request{method: http.MethodGet, path: versionPath(name, version)},
		definition); err != nil {
		return nil, err
	}
	if definition.Source != "" {
		return definition, nil
	}
	text := &bytes.Buffer{}
	err := c.pieces(ctx,
		request{method: http.MethodGet, path: versionPath(name, definition.Version) + "/source",
			query: url.Values{}}, text)
	if err == nil {
		err = json.Unmarshal(text.Bytes(), &definition.Source)
	}
	if err != nil {
		return nil, fmt.Errorf("the source of version %d of definition %q was not read: %w",
			definition.Version, name, err)
	}
	return definition, nil
}

// Retire has starts run a version no longer. Runs that have it continue.
func (c *Client) Retire(ctx context.Context, name string, version int) error {
	_, err := c.do(ctx, request{method: http.MethodPost, path: versionPath(name, version) +
		"/retire"}, nil)
	return err
}

// DeleteDefinition deletes a version that is not published and that no run has.
func (c *Client) DeleteDefinition(ctx context.Context, name string, version int) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: versionPath(name, version)}, nil)
	return err
}

// versionPath is the path of a version; version 0 is the highest that is published.
func versionPath(name string, version int) string {
	if version == 0 {
		return path("definitions", name, "versions", "latest")
	}
	return path("definitions", name, "versions", number(version))
}
