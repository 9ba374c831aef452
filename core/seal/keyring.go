package seal

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// Keyring implements [Keys] with keys that are known: the first seals, all open. To rotate, put a new key in front, and keep the
// others for as long as there are runs that they have sealed values of.
type Keyring struct{ keys []*Key }

// ParseKeyring reads keys as a file has them: one in each line, 32 bytes in base64, as `openssl rand -base64 32` makes them.
// Empty lines, and those that begin with #, say nothing. No error quotes a key.
func ParseKeyring(text string) (*Keyring, error) {
	ring := &Keyring{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		secret, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(secret) != KeyBytes {
			return nil, fmt.Errorf("line %d is no key: %d bytes in base64 expected, as `openssl rand -base64 %d` makes them", number, KeyBytes, KeyBytes)
		}
		ring.keys = append(ring.keys, &Key{ID: fingerprint(secret), Secret: secret})
	}
	if len(ring.keys) == 0 {
		return nil, errors.New("there is no key in it: make one with `openssl rand -base64 32`")
	}
	return ring, nil
}

// fingerprint names a key by its secret, of which it tells nothing.
func fingerprint(secret []byte) string {
	const digits = 8
	sum := sha256.Sum256(append([]byte("reprise key id "), secret...))
	return hex.EncodeToString(sum[:])[:digits]
}

// Current implements [Keys].
func (r *Keyring) Current(context.Context) (*Key, error) { return r.keys[0], nil }

// Find implements [Keys].
func (r *Keyring) Find(_ context.Context, id string) (*Key, error) {
	for _, key := range r.keys {
		if key.ID == id {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%w: it is sealed with key %q, which is not here (here: %s): add that key to the others", history.ErrUnreadable, id, r)
}

// String lists the ids.
func (r *Keyring) String() string {
	ids := make([]string, len(r.keys))
	for i, key := range r.keys {
		ids[i] = key.ID
	}
	return strings.Join(ids, ", ")
}
