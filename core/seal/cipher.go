package seal

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"github.com/reprise-run/reprise/core/history"
)

// KeyBytes is how long the secret of a key is: 32 random bytes.
const KeyBytes = 32

// Key is one that values are sealed with.
type Key struct {
	// ID names it, in what it has sealed: 1 to 255 bytes, no secret.
	ID string
	// Secret is KeyBytes long.
	Secret []byte
	// Wrapped is the secret as a key service has encrypted it, which is all that has to be known to have it again. Empty: there
	// is no such service.
	Wrapped string
}

// Keys are where a [Cipher] has its keys from. They are safe for concurrent use. Errors are as those of [Codec].
type Keys interface {
	// Current is the key that seals. It may be another one each time: that is rotation.
	Current(ctx context.Context) (*Key, error)
	// Find gives a key that has sealed.
	Find(ctx context.Context, id string) (*Key, error)
}

// Cipher implements [Codec] with AES-256-GCM.
//
// From the key, each run has two keys of its own, derived by HKDF-SHA-256 with its id: so a sealed value opens for its run
// alone, and no key is used for more than the values of one run. The nonce is the HMAC of the value under the second key. So the
// same value of the same run is sealed to the same bytes: what is written again is the same, a long value that is stored
// by its content is stored once, and nothing depends on random numbers, which processes that were cloned from one snapshot
// may share. The price: who sees the stored form sees which values of one run are equal, and about how long they are, as they do
// with any encryption. Two different values meet in one nonce with the odds of random ones: after 2^32 values of one run, 1 in 2^32.
//
// A value of 1 KB and more is compressed first, if that makes it shorter. Its length then says something of its content: do
// not put a secret into one value with what an attacker chooses, if the attacker can also read the store.
//
// The stored form: a version, flags, the length of the key's id and the id, which are authenticated, the nonce, the ciphertext and its
// tag. It has 31 bytes more than the value, and the id.
type Cipher struct {
	keys Keys

	mu   sync.Mutex
	runs map[ofRun]*runKeys
}

type ofRun struct{ id, run string }

// runKeys are the keys of one run.
type runKeys struct {
	secret []byte // that they were derived from
	aead   cipher.AEAD
	nonces []byte
}

const (
	version     = 1
	deflated    = 1 // flag
	nonceBytes  = 12
	worthwhile  = 1 << 10 // bytes of a value that is tried to be compressed
	manyRuns    = 4096    // whose keys are remembered
	shortest    = 3
	derivedInfo = "reprise payloads v1 "
)

// New makes a cipher.
func New(keys Keys) *Cipher { return &Cipher{keys: keys, runs: map[ofRun]*runKeys{}} }

// Keys are those that it was made with.
func (c *Cipher) Keys() Keys { return c.keys }

// Seal implements [Codec].
func (c *Cipher) Seal(ctx context.Context, run string, plain []byte) ([]byte, error) {
	key, err := c.keys.Current(ctx)
	if err != nil {
		return nil, err
	}
	k, err := c.derive(key, run)
	if err != nil {
		return nil, err
	}
	flags := byte(0)
	if len(plain) >= worthwhile {
		if short := deflate(plain); len(short) < len(plain) {
			plain, flags = short, deflated
		}
	}
	sealed := make([]byte, 0, shortest+len(key.ID)+nonceBytes+len(plain)+k.aead.Overhead())
	sealed = append(sealed, version, flags, byte(len(key.ID)))
	sealed = append(sealed, key.ID...)
	header := sealed
	sum := hmac.New(sha256.New, k.nonces)
	_, _ = sum.Write(header) // a hash takes all
	_, _ = sum.Write(plain)
	nonce := sum.Sum(nil)[:nonceBytes]
	sealed = append(sealed, nonce...)
	return k.aead.Seal(sealed, nonce, plain, header), nil
}

// Open implements [Codec].
func (c *Cipher) Open(ctx context.Context, run string, sealed []byte) ([]byte, error) {
	header, nonce, secret, err := split(sealed)
	if err != nil {
		return nil, err
	}
	id := string(header[shortest:])
	key, err := c.keys.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	k, err := c.derive(key, run)
	if err != nil {
		return nil, err
	}
	plain, err := k.aead.Open(nil, nonce, secret, header)
	if err != nil {
		return nil, fmt.Errorf("%w: it does not open with key %s: it was changed, or brought here from another run, since it was sealed; "+
			"put back what was there, or reset the run to a record before it", history.ErrUnreadable, id)
	}
	if header[1]&deflated != 0 {
		return inflate(plain)
	}
	return plain, nil
}

// split takes a sealed value apart.
func split(sealed []byte) (header, nonce, secret []byte, err error) {
	if len(sealed) < shortest {
		return nil, nil, nil, fmt.Errorf("%w: a sealed payload of %d bytes is none", history.ErrUnreadable, len(sealed))
	}
	if sealed[0] != version || sealed[1]&^deflated != 0 {
		return nil, nil, nil, fmt.Errorf("%w: it is sealed in form %d.%d, and this program opens form %d: it was written by a newer one, or is damaged",
			history.ErrUnreadable, sealed[0], sealed[1], version)
	}
	header, rest := sealed[:min(shortest+int(sealed[2]), len(sealed))], sealed[min(shortest+int(sealed[2]), len(sealed)):]
	if len(rest) < nonceBytes {
		return nil, nil, nil, fmt.Errorf("%w: a sealed payload of %d bytes is cut short", history.ErrUnreadable, len(sealed))
	}
	return header, rest[:nonceBytes], rest[nonceBytes:], nil
}

// derive gives the keys of a run.
func (c *Cipher) derive(key *Key, run string) (*runKeys, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, there := c.runs[ofRun{key.ID, run}]; there && bytes.Equal(k.secret, key.Secret) {
		return k, nil
	}
	if len(key.Secret) != KeyBytes || len(key.ID) == 0 || len(key.ID) > 255 {
		return nil, fmt.Errorf("key %q has %d bytes: it must have %d, and an id of 1 to 255 bytes", key.ID, len(key.Secret), KeyBytes)
	}
	both, err := hkdf.Key(sha256.New, key.Secret, nil, derivedInfo+run, 2*KeyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(both[:KeyBytes])
	if err != nil {
		return nil, err
	}
	k := &runKeys{secret: key.Secret, nonces: both[KeyBytes:]}
	if k.aead, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	if len(c.runs) >= manyRuns {
		clear(c.runs)
	}
	c.runs[ofRun{key.ID, run}] = k
	return k, nil
}

// compressors are reused: each holds a megabyte of tables.
var compressors = sync.Pool{New: func() any {
	compressor, err := flate.NewWriter(nil, flate.DefaultCompression)
	if err != nil {
		panic("this level is allowed: " + err.Error())
	}
	return compressor
}}

func deflate(text []byte) []byte {
	var short bytes.Buffer
	compressor := compressors.Get().(*flate.Writer)
	defer compressors.Put(compressor)
	compressor.Reset(&short)
	_, _ = compressor.Write(text) // a buffer takes all
	_ = compressor.Close()
	return short.Bytes()
}

func inflate(short []byte) ([]byte, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(short)))
	if err != nil {
		return nil, fmt.Errorf("%w: what was sealed does not inflate: %w", history.ErrUnreadable, err)
	}
	return text, nil
}
