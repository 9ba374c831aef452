package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reprise-run/reprise/infra/aws/offload"
)

// Of most runs, Places keep nothing: all their payloads are short. Asking them costs a request for each
// run that retention deletes, so the table says whether to ask. Before something of a run is kept for
// the first time, a row "kept" is put into its partition; it is the last row but the summary that a
// deletion takes away. The row is there, too, if what was kept is not used, since its record lost a
// race. The summary of a run that was created since there are such rows says so: of an earlier run,
// Places are asked as ever.
const (
	keptKey  = "kept"
	saysKept = "sayskept" // attribute of a summary's row
)

// isSaid is the attribute's value.
var isSaid = &types.AttributeValueMemberBOOL{Value: true}

// saying keeps as its Places do, and says so in the table first.
type saying struct {
	offload.Places
	store *Store
	said  *names
}

// Keep implements offload.Places.
func (p *saying) Keep(ctx context.Context, run string, data []byte) (place string, err error) {
	if !p.said.have(run) {
		if err := p.say(ctx, run); err != nil {
			return "", err
		}
	}
	return p.Places.Keep(ctx, run, data)
}

// Renew implements offload.Places.
func (p *saying) Renew(ctx context.Context, run string, data []byte) error {
	if err := p.say(ctx, run); err != nil {
		return err
	}
	return p.Places.Renew(ctx, run, data)
}

// Forget implements offload.Places.
func (p *saying) Forget(ctx context.Context, run string) error {
	p.said.remove(run)
	return p.Places.Forget(ctx, run)
}

func (p *saying) say(ctx context.Context, run string) error {
	err := p.store.putRow(ctx, call{"keep a payload", run}, &dynamodb.PutItemInput{Item: keyOf(partition(run), keptKey)})
	if err == nil {
		p.said.add(run)
	}
	return err
}

// Codec gives the stored form of what goes into the table. What a queue keeps by the same codec,
// retention deletes with its run.
func (s *Store) Codec() offload.Codec { return s.codec }
