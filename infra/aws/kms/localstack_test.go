//go:build localstack

package kms_test

import (
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/aws/kms"
)

// TestOnLocalStack does the same with LocalStack's KMS, at the port that REPRISE_LOCALSTACK_PORT names: see localstack/up.
func TestOnLocalStack(t *testing.T) {
	number := os.Getenv("REPRISE_LOCALSTACK_PORT")
	if number == "" {
		number = "4566"
	}
	address := (&url.URL{Scheme: "http", Host: "127.0.0.1:" + number}).String()
	client := awskms.New(awskms.Options{Region: "us-east-1", BaseEndpoint: &address, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
	made, err := client.CreateKey(t.Context(), &awskms.CreateKeyInput{})
	require.NoError(t, err)
	kept := &table{keys: map[string]string{}}
	keys := func(name string) *seal.Cipher {
		return seal.New(kms.New(kms.Config{Client: client, Key: *made.KeyMetadata.Arn, Table: name, Wrapped: kept}))
	}
	sealed, err := keys("runs").Seal(t.Context(), "r", []byte("value"))
	require.NoError(t, err)
	again, err := keys("runs").Seal(t.Context(), "r", []byte("value"))
	require.NoError(t, err)
	require.Equal(t, sealed, again, "another process has the same key")
	plain, err := keys("runs").Open(t.Context(), "r", sealed)
	require.NoError(t, err)
	require.Equal(t, "value", string(plain))
	_, err = keys("others").Open(t.Context(), "r", sealed)
	require.ErrorIs(t, err, history.ErrUnreadable, "the encryption context is another one")

	days := int32(7)
	_, err = client.ScheduleKeyDeletion(t.Context(), &awskms.ScheduleKeyDeletionInput{KeyId: made.KeyMetadata.Arn, PendingWindowInDays: &days})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := keys("runs").Open(t.Context(), "r", sealed)
		return err != nil
	}, time.Minute, time.Millisecond)
	_, err = keys("runs").Open(t.Context(), "r", sealed)
	require.ErrorIs(t, err, port.ErrUnavailable, "until the key is deleted for good, it can be "+
		"brought back")
}
