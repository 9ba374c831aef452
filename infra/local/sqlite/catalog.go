package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

// pageOfNames is how many names one page of the catalog holds.
const pageOfNames = 100

// PutDefinition flushes.
func (s *Store) PutDefinition(ctx context.Context, definition *port.Definition) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	about, err := history.Marshal(definition.About())
	if err != nil {
		return err
	}
	source, err := seal.Encode(ctx, s.options.Codec, definition.Key(),
		func(e history.Encoder) ([]byte, error) {
			return port.EncodeDefinition(e, definition)
		})
	if err != nil {
		return err
	}
	return s.submit(directChange(func(db *connection) error {
		n, err := db.exec(putDefinition, definition.Name, int64(definition.Version),
			string(definition.Status), about, source, definition.Hash)
		if err == nil && n == 0 {
			return fmt.Errorf("version %d of definition %q: %w", definition.Version,
				definition.Name, port.ErrTaken)
		}
		return err
	}))
}

// A version that was deleted comes back with the source that it had.
const putDefinition = `INSERT INTO definition(name, version, status, about, source)
	VALUES(?, ?, ?, ?, ?) ON CONFLICT(name, version) DO UPDATE
	SET status = excluded.status, about = excluded.about, source = excluded.source
	WHERE status = 'deleted' AND json_extract(CAST(about AS TEXT), '$.hash') = ?`

// SetDefinitionStatus flushes.
func (s *Store) SetDefinitionStatus(
	ctx context.Context, name string, version int, status port.DefinitionStatus,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.submit(directChange(func(db *connection) error {
		n, err := db.exec("UPDATE definition SET status = ? WHERE name = ? AND version = ? AND "+
			"status <> 'deleted'",
			string(status), name, int64(version))
		if err == nil && n == 0 {
			return noDefinition(name, version)
		}
		return err
	}))
}

// DeleteDefinition flushes.
func (s *Store) DeleteDefinition(ctx context.Context, name string, version int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.submit(directChange(func(db *connection) error {
		_, err := db.exec("UPDATE definition SET status = 'deleted', source = '' WHERE name = ? "+
			"AND version = ?",
			name, int64(version))
		return err
	}))
}

// directChange is a change of the database, of which nothing is kept in memory.
type directChange func(db *connection) error

func (c directChange) apply(db *connection) error { return c(db) }
func (c directChange) publish()                   {}

func noDefinition(name string, version int) error {
	if version == 0 {
		return fmt.Errorf("%w: no version of %q is published", port.ErrNoDefinition, name)
	}
	return fmt.Errorf("%w: version %d of %q", port.ErrNoDefinition, version, name)
}

func (s *Store) FindDefinition(
	ctx context.Context, name string, version int,
) (*port.Definition, error) {
	where, args := " WHERE name = ? AND version = ? AND status <> 'deleted'", []any{name,
		int64(version)}
	if version == 0 {
		where, args = " WHERE name = ? AND status = ? ORDER BY version DESC LIMIT 1",
			[]any{name, string(port.DefinitionPublished)}
	}
	found, err := s.abouts(ctx, where, args...)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noDefinition(name, version)
	}
	return found[0], nil
}

func (s *Store) Definition(
	ctx context.Context, name string, version int,
) (*port.Definition, error) {
	var status string
	var text []byte
	err := s.read(ctx, func(db *connection) error {
		return db.rows("SELECT status, source FROM definition WHERE name = ? AND version = ? AND "+
			"status <> 'deleted'", func(row []driver.Value) bool {
			status, text = row[0].(string), blob(row[1])
			return false
		}, name, int64(version))
	})
	if err == nil && text == nil {
		err = noDefinition(name, version)
	}
	if err != nil {
		return nil, err
	}
	key := (&port.Definition{Name: name}).Key()
	definition, err := seal.Decode(ctx, s.options.Codec, key, &history.Decoder{},
		func(d *history.Decoder) (*port.Definition, error) {
			return port.DecodeDefinition(d, text)
		})
	if err == nil {
		definition.Status = port.DefinitionStatus(status)
	}
	return definition, err
}

func (s *Store) Versions(ctx context.Context, name string) ([]*port.Definition, error) {
	return s.abouts(ctx, " WHERE name = ? ORDER BY version DESC", name)
}

// abouts reads what versions are, without their sources.
func (s *Store) abouts(
	ctx context.Context, where string, args ...any,
) (all []*port.Definition, err error) {
	var unreadable error
	err = s.read(ctx, func(db *connection) error {
		return db.rows("SELECT status, about FROM definition"+where, func(row []driver.Value) bool {
			about := &port.Definition{}
			if err := json.Unmarshal(blob(row[1]), about); err != nil {
				unreadable = fmt.Errorf("%w: a version of a definition: %w",
					history.ErrUnreadable, err)
				return false
			}
			about.Status = port.DefinitionStatus(row[0].(string))
			all = append(all, about)
			return true
		}, args...)
	})
	return all, errors.Join(err, unreadable)
}

func (s *Store) Names(ctx context.Context, after string) (page []string, err error) {
	err = s.read(ctx, func(db *connection) error {
		return db.rows("SELECT DISTINCT name FROM definition WHERE name > ? AND status <> "+
			"'deleted' ORDER BY name LIMIT ?", func(row []driver.Value) bool {
			page = append(page, row[0].(string))
			return true
		}, after, int64(pageOfNames))
	})
	return page, err
}
