package engine

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/port"
)

// PublishRequest asks for a version of a definition.
type PublishRequest struct {
	// Name is the workflow that the definition makes.
	Name string
	// Version is its number, from 1. Zero: the one after the highest; a source that is the highest
	// version's is that version.
	Version int
	// Kind says what interprets the source: one of [Engine.Kinds].
	Kind string
	// Source has at most [port.LongestSource] bytes.
	Source string
	// Draft: starts run it only where they name the version.
	Draft bool
	// Publisher is who publishes it, for people.
	Publisher string
}

// Publish adds a version of a definition, and has the runs tried again that were blocked for the
// lack of one. It is idempotent: the same source under the same number is the version that is there
// (created is false). Another source under a number that is taken is a [port.Conflict]. A source
// that cannot be interpreted is [port.Invalid], and nothing of it is stored.
func (e *Engine) Publish(
	ctx context.Context, request PublishRequest,
) (definition *port.Definition, created bool, err error) {
	made, err := e.check(request)
	if err != nil {
		return nil, false, err
	}
	if e.Catalog == nil {
		return nil, false, port.Errorf(port.Conflict, "this system has no catalog of definitions")
	}
	for {
		definition, created, err = e.publish(ctx, *made, request.Version)
		// else another publisher took the number, or this call came twice
		if !errors.Is(err, port.ErrTaken) {
			break
		}
	}
	if err != nil {
		return nil, false, e.unavailable(err, "the definition was not published")
	}
	if definition.Status != port.DefinitionPublished {
		return definition, created, nil
	}
	return definition, created, e.unavailable(e.unblockDefined(ctx, definition.Name),
		"the definition is published, but the runs that wait for it were not resumed")
}

// Validate says what [Engine.Publish] would say of a source; nil if it would be published.
func (e *Engine) Validate(request PublishRequest) error {
	_, err := e.check(request)
	return err
}

// check makes a definition of a request that can be published.
func (e *Engine) check(request PublishRequest) (*port.Definition, error) {
	kinds := e.Kinds()
	switch err := validName("definition", request.Name); {
	case err != nil:
		return nil, err
	case !slices.Contains(kinds, request.Kind):
		return nil, port.Errorf(port.Invalid, "definitions of kind %q are not interpreted here; "+
			"kinds: %s", request.Kind, named(kinds))
	case request.Version < 0:
		return nil, port.Errorf(port.Invalid, "version %d: versions are numbered from 1",
			request.Version)
	case len(request.Source) > port.LongestSource:
		return nil, port.Errorf(port.TooLarge, "the source has %d bytes, the limit is %d",
			len(request.Source), port.LongestSource)
	case !utf8.ValidString(request.Source):
		return nil, port.Errorf(port.Invalid, "the source is not UTF-8 text")
	}
	if _, ours := e.registry.FindWorkflow(request.Name); ours {
		return nil, port.Errorf(port.Conflict, "the program registers a workflow named %q: "+
			"publish the definition under another name", request.Name)
	}
	definition := &port.Definition{Name: request.Name, Kind: request.Kind,
		Status: port.DefinitionPublished, Publisher: request.Publisher,
		Hash:   port.HashDefinition(request.Kind, request.Source),
		Bytes:  len(request.Source),
		Source: request.Source}
	if request.Draft {
		definition.Status = port.DefinitionDraft
	}
	if _, err := e.config.Interpreters[request.Kind](request.Name, request.Source); err != nil {
		return nil, port.Wrapf(err, port.Invalid, "%v", err)
	}
	return definition, nil
}

// publish tries to add one version. ErrTaken: another publisher has just added it.
func (e *Engine) publish(
	ctx context.Context, definition port.Definition, version int,
) (*port.Definition, bool, error) {
	versions, err := e.Catalog.Versions(ctx, definition.Name)
	if err != nil {
		return nil, false, err
	}
	if version == 0 && len(versions) > 0 {
		if version = versions[0].Version; versions[0].Hash != definition.Hash {
			version++
		}
	}
	version = max(1, version)
	there := slices.IndexFunc(versions, func(d *port.Definition) bool {
		return d.Version == version
	})
	if there >= 0 && (versions[there].Status != port.DefinitionDeleted ||
		versions[there].Hash != definition.Hash) {
		return e.publishAgain(ctx, versions[there], &definition)
	}
	definition.Version, definition.Published = version, e.Clock.Now().UTC()
	return definition.About(), true, e.Catalog.PutDefinition(ctx, &definition)
}

// publishAgain publishes a version that is there: a draft, perhaps.
func (e *Engine) publishAgain(
	ctx context.Context, there, wanted *port.Definition,
) (*port.Definition, bool, error) {
	if there.Hash != wanted.Hash {
		return nil, false, port.Errorf(port.Conflict, "version %d of definition %q has another "+
			"source: versions do not change, publish this one under another number",
			there.Version, there.Name)
	}
	if wanted.Status == port.DefinitionDraft || there.Status == port.DefinitionPublished {
		return there, false, nil
	}
	there.Status = wanted.Status
	return there, false, e.Catalog.SetDefinitionStatus(ctx, there.Name, there.Version, there.Status)
}

// unblockDefined has the runs of a workflow tried again that were blocked since it had no code
// here.
func (e *Engine) unblockDefined(ctx context.Context, workflow string) error {
	blocked := port.ListQuery{Workflow: workflow, Blocked: true, Limit: ShortestPage}
	return e.eachPage(ctx, blocked, func(page []*port.Summary) error {
		var resumes []port.Resume
		for _, run := range page {
			if run.Blocked.Reason == port.ReasonUnregistered {
				resumes = append(resumes, unblocks(run))
			}
		}
		if len(resumes) == 0 {
			return nil
		}
		return e.Queue.SendResumes(ctx, resumes...)
	})
}

// unblockPublished resumes a run that was blocked for the lack of a definition, if that was
// published meanwhile: its publisher may have listed blocked runs before this one was blocked.
func (e *Engine) unblockPublished(ctx context.Context, run string, needs pin) error {
	if needs.name == "" {
		return nil
	}
	there, err := e.hasDefinition(ctx, needs)
	if !there || err != nil {
		return err
	}
	return e.Unblock(ctx, run)
}

// isPublished says whether the catalog has the definition for the lack of which a run was blocked.
// It keeps in known what it has asked the catalog.
func (e *Engine) isPublished(
	ctx context.Context, run *port.Summary, known map[pin]bool,
) (there bool, err error) {
	if run.Blocked.Reason != port.ReasonUnregistered {
		return false, nil
	}
	needs := pin{run.Workflow, run.Definition}
	if there, asked := known[needs]; asked {
		return there, nil
	}
	if there, err = e.hasDefinition(ctx, needs); err == nil {
		known[needs] = there
	}
	return there, err
}

// hasDefinition says whether the catalog has a version. Version 0: whether any is published.
func (e *Engine) hasDefinition(ctx context.Context, of pin) (bool, error) {
	_, err := e.findDefinition(ctx, of)
	if errors.Is(err, port.ErrNoDefinition) {
		return false, nil
	}
	return err == nil, err
}

// findDefinition is [port.Catalog.FindDefinition]. Without a catalog, it finds none.
func (e *Engine) findDefinition(ctx context.Context, of pin) (*port.Definition, error) {
	if e.Catalog == nil {
		return nil, port.ErrNoDefinition
	}
	return e.Catalog.FindDefinition(ctx, of.name, of.version)
}

// readDefinition is [port.Catalog.Definition], likewise.
func (e *Engine) readDefinition(ctx context.Context, of pin) (*port.Definition, error) {
	if e.Catalog == nil {
		return nil, port.ErrNoDefinition
	}
	return e.Catalog.Definition(ctx, of.name, of.version)
}

// Definition gives a version with its source; version 0 is the highest that is published.
func (e *Engine) Definition(
	ctx context.Context, name string, version int,
) (*port.Definition, error) {
	of := pin{name, version}
	if version == 0 {
		highest, err := e.findDefinition(ctx, of)
		if err != nil {
			return nil, e.undefined(err, of)
		}
		of.version = highest.Version
	}
	definition, err := e.readDefinition(ctx, of)
	return definition, e.undefined(err, of)
}

// Version gives a version without its source; version 0 is the highest that is published.
func (e *Engine) Version(ctx context.Context, name string, version int) (*port.Definition, error) {
	found, err := e.findDefinition(ctx, pin{name, version})
	return found, e.undefined(err, pin{name, version})
}

// undefined is the error of a caller that asked for a version; nil stays nil.
func (e *Engine) undefined(err error, of pin) error {
	switch {
	case !errors.Is(err, port.ErrNoDefinition):
		return e.unavailable(err, "the definition was not read")
	case of.version == 0:
		return port.Errorf(port.NotFound, "no version of definition %q is published", of.name)
	}
	return port.Errorf(port.NotFound, "there is no version %d of definition %q",
		of.version, of.name)
}

// Definitions lists the highest versions of names after one, whatever their status, without
// sources; and the name to give for the next page, "" at the end.
func (e *Engine) Definitions(
	ctx context.Context, after string,
) (page []*port.Definition, next string, err error) {
	if e.Catalog == nil {
		return nil, "", nil
	}
	names, err := e.Catalog.Names(ctx, after)
	for _, name := range names {
		var versions []*port.Definition
		if versions, err = e.Catalog.Versions(ctx, name); err != nil {
			break
		}
		// else they were deleted just now
		if versions = withoutDeleted(versions); len(versions) > 0 {
			page = append(page, versions[0])
		}
		next = name
	}
	return page, next, e.unavailable(err, "the definitions were not listed")
}

// Versions lists the versions of a definition without their sources, the highest first.
func (e *Engine) Versions(ctx context.Context, name string) ([]*port.Definition, error) {
	if e.Catalog == nil {
		return nil, port.Errorf(port.NotFound, "there is no definition %q", name)
	}
	versions, err := e.Catalog.Versions(ctx, name)
	versions = withoutDeleted(versions)
	if err == nil && len(versions) == 0 {
		return nil, port.Errorf(port.NotFound, "there is no definition %q", name)
	}
	return versions, e.unavailable(err, "the versions were not listed")
}

func withoutDeleted(versions []*port.Definition) []*port.Definition {
	return slices.DeleteFunc(versions, func(d *port.Definition) bool {
		return d.Status == port.DefinitionDeleted
	})
}

// Retire ends starts of a version. Runs that have it continue.
func (e *Engine) Retire(ctx context.Context, name string, version int) error {
	if _, err := e.Version(ctx, name, version); err != nil {
		return err
	}
	err := e.Catalog.SetDefinitionStatus(ctx, name, version, port.DefinitionRetired)
	return e.unavailable(err, "the version was not retired")
}

// DeleteDefinition deletes a version that no run has, open or ended. One that is published is to be
// retired first, so that no start takes it meanwhile. Its number is not given to another source.
func (e *Engine) DeleteDefinition(ctx context.Context, name string, version int) error {
	found, err := e.Version(ctx, name, version)
	if err != nil {
		return err
	}
	if found.Status == port.DefinitionPublished {
		return port.Errorf(port.Conflict,
			"version %d of definition %q is published: retire it first", version, name)
	}
	users := port.ListQuery{Workflow: name, Definition: version, Limit: 1}
	err = e.eachPage(ctx, users, func(page []*port.Summary) error {
		if len(page) == 0 {
			return nil
		}
		return port.Errorf(port.Conflict, "version %d of definition %q is in use: run %q has it. "+
			"It can be deleted when no run has it, ended runs included", version, name, page[0].Run)
	})
	if err != nil {
		return e.unavailable(err, "the version was not deleted: its runs were not listed")
	}
	err = e.Catalog.DeleteDefinition(ctx, name, version)
	return e.unavailable(err, "the version was not deleted")
}

// pin is the version of a definition that a start runs; 0: it runs the program's own code, or waits
// until one is published.
func (e *Engine) pin(ctx context.Context, request StartRequest) (int, error) {
	if _, ours := e.registry.FindWorkflow(request.Workflow); ours {
		if request.Definition != 0 {
			return 0, port.Errorf(port.Invalid, "workflow %q is the program's own, which has no "+
				"versions: leave the version out", request.Workflow)
		}
		return 0, nil
	}
	of := pin{request.Workflow, request.Definition}
	found, err := e.findDefinition(ctx, of)
	switch {
	case of.version == 0 && errors.Is(err, port.ErrNoDefinition):
		return 0, nil
	case err != nil:
		return 0, e.undefined(err, of)
	case found.Status == port.DefinitionRetired:
		return 0, port.Errorf(port.Conflict, "version %d of definition %q is retired: start "+
			"another one", found.Version, found.Name)
	}
	return found.Version, nil
}
