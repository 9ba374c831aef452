package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Each definition has a partition of its own, so that starts of many workflows share no partition's
// limit. A version has two rows there: one says what it is, and one has its source. A listing reads
// the first alone. A further row counts the versions of the name, in the partition of all names.

// pageOfNames is how many names one page of the catalog holds.
const pageOfNames = 100

// firstVersions is how many versions are read to find the highest one that is published, as a rule.
// A query is charged for all that it reads: each start makes one.
const firstVersions = 4

// PutDefinition is one transaction.
func (s *Store) PutDefinition(ctx context.Context, definition *port.Definition) error {
	about, err := history.Marshal(definition.About())
	if err != nil {
		return err
	}
	content, err := s.codec.EncodeDefinition(ctx, definition)
	if err != nil {
		return err
	}
	body, err := s.body(ctx, definition.Key(), content)
	if err != nil {
		return err
	}
	pk := definitionPrefix + definition.Name
	version := row{"status": text(string(definition.Status)), "about": text(string(about))}
	maps.Copy(version, keyOf(pk, versionKey(versionPrefix, definition.Version)))
	source := row{"body": body}
	maps.Copy(source, keyOf(pk, versionKey(sourcePrefix, definition.Version)))
	t := &transaction{}
	t.put(&types.Put{
		TableName: &s.table, Item: version,
		ConditionExpression: aws.String(absent + " OR #status = :deleted AND " +
			"contains(about, :hash)"),
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: row{
			":deleted": text(string(port.DefinitionDeleted)), ":hash": text(definition.Hash),
		},
	}, func(row) error {
		return fmt.Errorf("version %d of definition %q: %w", definition.Version, definition.Name,
			port.ErrTaken)
	})
	t.put(&types.Put{TableName: &s.table, Item: source}, nil)
	s.countVersions(t, definition.Name, 1)
	return s.commit(ctx, call{name: "publish"}, t)
}

// countVersions adds to the number of a name's versions.
func (s *Store) countVersions(t *transaction, name string, change int64) {
	t.update(&types.Update{TableName: &s.table, Key: keyOf(namesPartition, name),
		UpdateExpression:          aws.String("ADD versions :change"),
		ExpressionAttributeValues: row{":change": number(change)}}, nil)
}

// SetDefinitionStatus is one update.
func (s *Store) SetDefinitionStatus(
	ctx context.Context, name string, version int, status port.DefinitionStatus,
) error {
	u := change(row{"status": text(string(status))})
	values := u.attributes()
	values[":deleted"] = text(string(port.DefinitionDeleted))
	err := s.updateRow(ctx, call{name: "set a definition's status"}, &dynamodb.UpdateItemInput{
		Key:                      keyOf(definitionPrefix+name, versionKey(versionPrefix, version)),
		UpdateExpression:         u.expression(),
		ConditionExpression:      aws.String("attribute_exists(sk) AND #status <> :deleted"),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: values})
	if refused(err) {
		return noDefinition(name, version)
	}
	return err
}

func noDefinition(name string, version int) error {
	if version == 0 {
		return fmt.Errorf("%w: no version of %q is published", port.ErrNoDefinition, name)
	}
	return fmt.Errorf("%w: version %d of %q", port.ErrNoDefinition, version, name)
}

// FindDefinition is one strongly consistent read, of one unit or so. It reads more versions where
// the highest ones are not published.
func (s *Store) FindDefinition(
	ctx context.Context, name string, version int,
) (found *port.Definition, err error) {
	if version != 0 {
		r, err := s.getRow(ctx, call{name: "find a definition"}, definitionPrefix+name,
			versionKey(versionPrefix, version))
		if err == nil && (r == nil || textOf(r, "status") == string(port.DefinitionDeleted)) {
			err = noDefinition(name, version)
		}
		if err != nil {
			return nil, err
		}
		return aboutOf(name, r)
	}
	err = s.eachVersion(ctx, name, firstVersions, func(about *port.Definition) bool {
		if about.Status == port.DefinitionPublished {
			found = about
		}
		return found == nil
	})
	if err == nil && found == nil {
		err = noDefinition(name, 0)
	}
	return found, err
}

// Definition is two strongly consistent reads.
func (s *Store) Definition(
	ctx context.Context, name string, version int,
) (*port.Definition, error) {
	about, err := s.FindDefinition(ctx, name, version)
	if err != nil {
		return nil, err
	}
	r, err := s.getRow(ctx, call{name: "read a definition"}, definitionPrefix+name,
		versionKey(sourcePrefix, version))
	if err != nil {
		return nil, err
	}
	if r == nil { // it was deleted between the two
		return nil, noDefinition(name, version)
	}
	definition, err := s.readDefinition(ctx, name, r)
	if err != nil {
		return nil, err
	}
	definition.Status = about.Status
	return definition, nil
}

func (s *Store) readDefinition(ctx context.Context, name string, r row) (*port.Definition, error) {
	content, err := content(ctx, s.codec, r)
	if err != nil {
		return nil, fmt.Errorf("a source of definition %q: %w", name, err)
	}
	return s.codec.DecodeDefinition(ctx, name, content)
}

func (s *Store) Versions(ctx context.Context, name string) (all []*port.Definition, err error) {
	err = s.eachVersion(ctx, name, 0, func(about *port.Definition) bool {
		all = append(all, about)
		return true
	})
	return all, err
}

// eachVersion reads what versions are, the highest first, for as long as more are wanted. The first
// query reads so many; 0: as many as one query gives.
func (s *Store) eachVersion(
	ctx context.Context, name string, first int32, each func(about *port.Definition) (more bool),
) error {
	var start row
	var limit *int32
	if first > 0 {
		limit = &first
	}
	for {
		out, err := s.query(ctx, call{name: "list versions"}, &dynamodb.QueryInput{
			KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :version)"),
			ExpressionAttributeValues: row{":pk": text(definitionPrefix + name),
				":version": text(versionPrefix)},
			ConsistentRead:    aws.Bool(true),
			ScanIndexForward:  aws.Bool(false),
			ExclusiveStartKey: start,
			Limit:             limit})
		if err != nil {
			return err
		}
		limit = nil
		for _, r := range out.Items {
			about, err := aboutOf(name, r)
			if err != nil || !each(about) {
				return err
			}
		}
		if start = out.LastEvaluatedKey; start == nil {
			return nil
		}
	}
}

func aboutOf(name string, r row) (*port.Definition, error) {
	about := &port.Definition{}
	if err := json.Unmarshal([]byte(textOf(r, "about")), about); err != nil {
		return nil, fmt.Errorf("%w: a version of definition %q: %w", history.ErrUnreadable, name,
			err)
	}
	about.Status = port.DefinitionStatus(textOf(r, "status"))
	return about, nil
}

// Names is one strongly consistent query, and further ones where all versions of many names were
// deleted.
func (s *Store) Names(ctx context.Context, after string) (page []string, err error) {
	in := &dynamodb.QueryInput{KeyConditionExpression: aws.String("pk = :pk AND sk > :after"),
		FilterExpression: aws.String("versions > :none"),
		ExpressionAttributeValues: row{":pk": text(namesPartition), ":after": text(after),
			":none": number(0)},
		ConsistentRead: aws.Bool(true), Limit: aws.Int32(pageOfNames)}
	if after == "" { // which DynamoDB takes for no key
		in.KeyConditionExpression = aws.String("pk = :pk")
		delete(in.ExpressionAttributeValues, ":after")
	}
	for {
		out, err := s.query(ctx, call{name: "list definitions"}, in)
		if err != nil {
			return nil, err
		}
		for _, r := range out.Items {
			page = append(page, textOf(r, "sk"))
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil ||
			len(page) > 0 {
			return page, nil
		}
	}
}

// errGone says that a version to delete is not there.
var errGone = errors.New("gone")

// DeleteDefinition is one transaction. The row that says what the version was stays. A long source
// stays where it is kept elsewhere: another version may have the same one.
func (s *Store) DeleteDefinition(ctx context.Context, name string, version int) error {
	pk := definitionPrefix + name
	t := &transaction{}
	t.update(&types.Update{
		TableName: &s.table, Key: keyOf(pk, versionKey(versionPrefix, version)),
		UpdateExpression:          aws.String("SET #status = :deleted"),
		ConditionExpression:       aws.String("attribute_exists(sk) AND #status <> :deleted"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: row{":deleted": text(string(port.DefinitionDeleted))},
	}, func(row) error { return errGone })
	t.delete(&types.Delete{TableName: &s.table, Key: keyOf(pk, versionKey(sourcePrefix, version))},
		nil)
	s.countVersions(t, name, -1)
	if err := s.commit(ctx, call{name: "delete a definition"}, t); !errors.Is(err, errGone) {
		return err
	}
	return nil
}
