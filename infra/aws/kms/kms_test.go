package kms_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/aws/kms"
)

const arn = "arn:aws:kms:eu-west-1:123456789012:key/1234"

// service speaks KMS's two operations over HTTP, as the SDK's own client calls them: it encrypts under a key of its own, bound to the
// encryption context.
type service struct {
	mu     sync.Mutex
	aead   cipher.AEAD
	calls  map[string]int
	denied string // an error's name; empty: it serves
}

func newService(t *testing.T) (*service, *awskms.Client) {
	t.Helper()
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	block, err := aes.NewCipher(secret)
	require.NoError(t, err)
	s := &service{calls: map[string]int{}}
	s.aead, err = cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, awskms.New(awskms.Options{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		Retryer: aws.NopRetryer{}})
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in struct {
		CiphertextBlob    []byte
		EncryptionContext map[string]string
		KeySpec           string
		KeyID             string `json:"KeyId"`
	}
	operation := r.Header.Get("X-Amz-Target")
	s.calls[operation]++
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	fail := func(name string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, name)
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || s.denied != "" {
		fail(s.denied)
		return
	}
	bound := fmt.Appendf(nil, "%v", in.EncryptionContext) // maps print in order
	out := map[string][]byte{}
	switch operation {
	case "TrentService.GenerateDataKey":
		if in.KeyID != arn || in.KeySpec != "AES_256" {
			fail("NotFoundException")
			return
		}
		out["Plaintext"] = make([]byte, 32)
		_, _ = rand.Read(out["Plaintext"])
		out["CiphertextBlob"] = s.aead.Seal(nil, nil, out["Plaintext"], bound)
	case "TrentService.Decrypt":
		plain, err := s.aead.Open(nil, nil, in.CiphertextBlob, bound)
		if err != nil {
			fail("InvalidCiphertextException")
			return
		}
		out["Plaintext"] = plain
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (s *service) deny(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = name
}

// table keeps wrapped keys.
type table struct {
	mu   sync.Mutex
	keys map[string]string
}

func (k *table) WrappedKey(_ context.Context, id string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys[id], nil
}

func (k *table) AddWrappedKey(_ context.Context, id, wrapped string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if there := k.keys[id]; there != "" {
		return there, nil
	}
	k.keys[id] = wrapped
	return wrapped, nil
}

// process is one that begins to know nothing.
func process(client kms.Client, wrapped kms.Wrapped, now *time.Time) *seal.Cipher {
	keys := kms.New(kms.Config{Client: client, Key: arn, Table: "runs", Wrapped: wrapped})
	keys.At(func() time.Time { return *now })
	return seal.New(keys)
}

func TestProcessesShareTheMonthsKey(t *testing.T) {
	s, client := newService(t)
	kept := &table{keys: map[string]string{}}
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	var sealed [][]byte
	var busy sync.WaitGroup
	var mu sync.Mutex
	for range 8 {
		busy.Go(func() {
			one, err := process(client, kept, &now).Seal(t.Context(), "r", []byte("value"))
			mu.Lock()
			defer mu.Unlock()
			if sealed = append(sealed, one); err != nil {
				t.Error(err)
			}
		})
	}
	busy.Wait()
	for _, one := range sealed {
		require.Equal(t, sealed[0], one)
	}
	require.Len(t, kept.keys, 1)
	require.Contains(t, kept.keys, "2026-11")
	require.False(t, bytes.Contains(sealed[0], []byte("value")))

	now = now.Add(2 * time.Minute) // December
	later := process(client, kept, &now)
	next, err := later.Seal(t.Context(), "r", []byte("value"))
	require.NoError(t, err)
	require.NotEqual(t, sealed[0], next)
	require.Contains(t, kept.keys, "2026-12")
	before := s.calls["TrentService.Decrypt"]
	for _, one := range [][]byte{sealed[0], next, sealed[0]} {
		plain, err := later.Open(t.Context(), "r", one)
		require.NoError(t, err)
		require.Equal(t, "value", string(plain))
	}
	require.Equal(t, before+1, s.calls["TrentService.Decrypt"], "a key is decrypted once")
}

func TestWhoeverMayNoLongerUseTheKeyIsFoundOut(t *testing.T) {
	s, client := newService(t)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := process(client, &table{keys: map[string]string{}}, &now)
	sealed, err := c.Seal(t.Context(), "r", []byte("value"))
	require.NoError(t, err)
	s.deny("AccessDeniedException")
	_, err = c.Open(t.Context(), "r", sealed)
	require.NoError(t, err)
	now = now.Add(16 * time.Minute)
	_, err = c.Open(t.Context(), "r", sealed)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.NotErrorIs(t, err, history.ErrUnreadable, "it blocks no run: permissions can be given back")
	require.ErrorContains(t, err, "AccessDenied")
	s.deny("")
	_, err = c.Open(t.Context(), "r", sealed)
	require.NoError(t, err)
}

func TestAKeyOfAnotherTable(t *testing.T) {
	_, client := newService(t)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	kept := &table{keys: map[string]string{}}
	sealed, err := process(client, kept, &now).Seal(t.Context(), "r", []byte("value"))
	require.NoError(t, err)
	_, err = seal.New(kms.New(kms.Config{Client: client, Key: arn, Table: "others", Wrapped: kept})).Open(t.Context(), "r", sealed)
	require.ErrorIs(t, err, history.ErrUnreadable)
	_, err = process(client, &table{keys: map[string]string{}}, &now).Open(t.Context(), "r", sealed)
	require.ErrorIs(t, err, history.ErrUnreadable)
	require.ErrorContains(t, err, `the data key "2026-11", which is not here`)

	// With the wrapped key, KMS is all that is needed.
	plain, err := seal.New(kms.New(kms.Config{Client: client, Wrapped: kms.Known(kept.keys)})).Open(t.Context(), "r", sealed)
	require.NoError(t, err)
	require.Equal(t, "value", string(plain))
}
