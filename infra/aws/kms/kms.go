// Package kms has the keys that values are sealed with in a deployment: data keys, which KMS makes and encrypts with a key that
// never leaves it. It implements seal.Keys.
//
// There is a data key for each calendar month, by whose name it goes ("2026-11"). Whoever needs it first has KMS make it, and keeps
// it in its encrypted form beside the runs; all others read it there and have KMS decrypt it. So a cold start costs one read
// and one call of KMS, a value costs neither, and its stored form carries no more than the month. As everybody seals with the same
// key, the same value of a run is the same bytes wherever it is sealed.
package kms

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

// Client is what is called of the service.
type Client interface {
	GenerateDataKey(ctx context.Context, in *kms.GenerateDataKeyInput, options ...func(*kms.Options)) (*kms.GenerateDataKeyOutput, error)
	Decrypt(ctx context.Context, in *kms.DecryptInput, options ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

// Wrapped keeps data keys in their encrypted form, as text, by id.
type Wrapped interface {
	// WrappedKey gives the one of an id; "" if there is none. An error wraps [port.ErrUnavailable].
	WrappedKey(ctx context.Context, id string) (string, error)
	// AddWrappedKey keeps one, if there is none of its id, and gives the one that is there then.
	AddWrappedKey(ctx context.Context, id, wrapped string) (there string, err error)
}

// Config of [New].
type Config struct {
	Client Client
	// Key is the key in KMS: its ARN. It is not changed later: what it has encrypted, no other one decrypts. KMS's own rotation
	// keeps the ARN.
	Key string
	// Table names the deployment whose values are sealed: a data key of one table is of no use for another one, since KMS
	// decrypts it for its own table only (it is the encryption context, as CloudTrail shows it).
	Table   string
	Wrapped Wrapped
}

// keptFor is how long a data key is used that KMS has decrypted. Then KMS is asked again: whoever is no longer allowed to use the key
// in KMS can open nothing more after so long.
const keptFor = 15 * time.Minute

// Keys implements seal.Keys. It is safe for concurrent use.
type Keys struct {
	config Config
	now    func() time.Time

	mu    sync.Mutex
	known map[string]*known
}

// known is a data key that is in memory, or under way: then done is open.
type known struct {
	done  chan struct{}
	key   *seal.Key
	err   error
	since time.Time
}

// New makes keys. It asks nobody anything.
func New(config Config) *Keys {
	return &Keys{config: config, now: time.Now, known: map[string]*known{}}
}

// Current implements seal.Keys: the key of this month, in UTC.
func (k *Keys) Current(ctx context.Context) (*seal.Key, error) {
	return k.get(ctx, k.now().UTC().Format("2006-01"), k.obtain)
}

// Find implements seal.Keys.
func (k *Keys) Find(ctx context.Context, id string) (*seal.Key, error) { return k.get(ctx, id, k.read) }

// get gives a key from memory, or has one caller get it while the others of it wait.
func (k *Keys) get(ctx context.Context, id string, get func(context.Context, string) (*seal.Key, error)) (*seal.Key, error) {
	for {
		one, mine := k.join(id)
		if mine {
			one.key, one.err = get(ctx, id)
			k.leave(id, one)
			return one.key, one.err
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: the data key %s: %w", port.ErrUnavailable, id, ctx.Err())
		}
		if one.err == nil {
			return one.key, nil
		}
	}
}

func (k *Keys) join(id string) (one *known, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now().Round(0) // by the wall clock: the other one may stand still while the process is frozen
	if one := k.known[id]; one != nil && (one.since.IsZero() || now.Sub(one.since) < keptFor) {
		return one, false
	}
	one = &known{done: make(chan struct{})}
	k.known[id] = one
	return one, true
}

func (k *Keys) leave(id string, one *known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one.since = k.now().Round(0); one.err != nil {
		delete(k.known, id)
	}
	close(one.done)
}

// obtain gives a key that may have to be made.
func (k *Keys) obtain(ctx context.Context, id string) (*seal.Key, error) {
	wrapped, err := k.config.Wrapped.WrappedKey(ctx, id)
	if err != nil {
		return nil, err
	}
	if wrapped != "" {
		return k.unwrap(ctx, id, wrapped)
	}
	out, err := k.config.Client.GenerateDataKey(ctx, &kms.GenerateDataKeyInput{KeyId: &k.config.Key, KeySpec: types.DataKeySpecAes256,
		EncryptionContext: contextOf(k.config.Table)})
	if err != nil {
		return nil, failed("did not make a data key", err)
	}
	mine := text(k.config.Table, out.CiphertextBlob)
	there, err := k.config.Wrapped.AddWrappedKey(ctx, id, mine)
	if err != nil {
		return nil, err
	}
	if there != mine { // another one was faster
		return k.unwrap(ctx, id, there)
	}
	return &seal.Key{ID: id, Secret: out.Plaintext, Wrapped: mine}, nil
}

// read gives a key that was made before.
func (k *Keys) read(ctx context.Context, id string) (*seal.Key, error) {
	wrapped, err := k.config.Wrapped.WrappedKey(ctx, id)
	if err != nil {
		return nil, err
	}
	if wrapped == "" {
		return nil, fmt.Errorf("%w: it is sealed with the data key %q, which is not here: put it back from a backup of the table", history.ErrUnreadable, id)
	}
	return k.unwrap(ctx, id, wrapped)
}

// unwrap has KMS decrypt a key. A table that is not named is that of the wrapped key.
func (k *Keys) unwrap(ctx context.Context, id, wrapped string) (*seal.Key, error) {
	table, blob, err := parse(wrapped)
	if err != nil {
		return nil, fmt.Errorf("%w: the data key %q: %w", history.ErrUnreadable, id, err)
	}
	if k.config.Table != "" {
		table = k.config.Table
	}
	in := &kms.DecryptInput{CiphertextBlob: blob, EncryptionContext: contextOf(table)}
	if k.config.Key != "" {
		in.KeyId = &k.config.Key
	}
	out, err := k.config.Client.Decrypt(ctx, in)
	if err != nil {
		return nil, failed("did not decrypt the data key "+id+" of table "+table, err)
	}
	return &seal.Key{ID: id, Secret: out.Plaintext, Wrapped: wrapped}, nil
}

func contextOf(table string) map[string]string {
	return map[string]string{"reprise:purpose": "payloads", "reprise:table": table}
}

// scheme begins a wrapped key's text; the table and KMS's own bytes follow.
const scheme = "kms:"

func text(table string, blob []byte) string {
	return scheme + table + ":" + base64.StdEncoding.EncodeToString(blob)
}

func parse(wrapped string) (table string, blob []byte, err error) {
	rest, ours := strings.CutPrefix(wrapped, scheme)
	at := strings.LastIndexByte(rest, ':')
	if !ours || at < 0 {
		return "", nil, errors.New("it was not wrapped by KMS")
	}
	blob, err = base64.StdEncoding.DecodeString(rest[at+1:])
	return rest[:at], blob, err
}

// failed sorts an error of KMS. Only of what it cannot decrypt it is known that another attempt would find the same: all else, a
// permission that is missing too, can be mended, and is no fault of a run's.
func failed(what string, err error) error {
	invalid, other := (*types.InvalidCiphertextException)(nil), (*types.IncorrectKeyException)(nil)
	if errors.As(err, &invalid) || errors.As(err, &other) {
		return fmt.Errorf("%w: KMS %s: it was changed, or is of another table or key: %w", history.ErrUnreadable, what, err)
	}
	return fmt.Errorf("%w: KMS %s: %w", port.ErrUnavailable, what, err)
}

// Known is a [Wrapped] of keys that came with what they have sealed, as with an exported history. None is added.
type Known map[string]string

// WrappedKey implements [Wrapped].
func (k Known) WrappedKey(_ context.Context, id string) (string, error) { return k[id], nil }

// AddWrappedKey implements [Wrapped].
func (k Known) AddWrappedKey(context.Context, string, string) (string, error) {
	return "", errors.New("keys that came with a file are not added to")
}
