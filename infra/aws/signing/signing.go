// Package signing signs HTTP requests for an API Gateway that asks who calls (IAM authorization), with AWS signature version 4.
//
// It knows nothing of what is asked: it is a transport for any HTTP client.
package signing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
)

// service is the name that API Gateway has in signatures.
const service = "execute-api"

// Errors of signing.
var (
	// ErrNoCredentials says that nothing is there to sign with.
	ErrNoCredentials = errors.New("there are no AWS credentials to sign requests with: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY " +
		"(and AWS_SESSION_TOKEN for temporary ones), or AWS_PROFILE, and log in with the aws command if the profile asks for that")
	// ErrNoRegion says that nobody names a region, which every signature is for.
	ErrNoRegion = errors.New("there is no AWS region to sign requests for: set AWS_REGION, or name it")
)

// Config of a transport.
type Config struct {
	Credentials aws.CredentialsProvider
	// Region of the API.
	Region string
	// Next sends the signed requests. Nil: [http.DefaultTransport].
	Next http.RoundTripper
}

// Load finds credentials as every AWS program does (environment, profile, role), and the region likewise, unless it is
// given. It asks for the credentials once, which may take seconds where they come from the network, so that their lack shows
// before anything is sent: [ErrNoCredentials], [ErrNoRegion].
func Load(ctx context.Context, region string) (Config, error) {
	found, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return Config{}, fmt.Errorf("%w (%w)", ErrNoCredentials, err)
	}
	if region == "" {
		region = found.Region
	}
	if region == "" {
		return Config{}, ErrNoRegion
	}
	c := Config{Credentials: found.Credentials, Region: region}
	_, err = c.retrieve(ctx)
	return c, err
}

func (c Config) retrieve(ctx context.Context) (aws.Credentials, error) {
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return credentials, ctx.Err()
		}
		return credentials, fmt.Errorf("%w (%w)", ErrNoCredentials, err)
	}
	return credentials, nil
}

// Transport signs each request that it is given, as of now and with the credentials of now, and sends it: one that is
// repeated is signed anew. The body is read into memory. It is safe for concurrent use.
type Transport struct {
	config Config
	signer *v4.Signer
}

// New makes a transport.
func New(config Config) *Transport {
	if config.Next == nil {
		config.Next = http.DefaultTransport
	}
	// The signer escapes the path once more than it is sent, which is right for every service but S3.
	return &Transport{config, v4.NewSigner()}
}

// RoundTrip signs a copy of the request and sends it.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, fmt.Errorf("signing a request: its body was not read: %w", err)
	}
	credentials, err := t.config.retrieve(r.Context())
	if err != nil {
		return nil, err
	}
	signed := r.Clone(r.Context())
	signed.Header.Del("X-Amz-Security-Token") // of a signature before
	signed.ContentLength, signed.TransferEncoding, signed.Body, signed.GetBody = int64(len(body)), nil, http.NoBody, nil
	if len(body) > 0 {
		signed.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		signed.Body, _ = signed.GetBody()
	}
	hash := sha256.Sum256(body)
	if err := t.signer.SignHTTP(r.Context(), credentials, signed, hex.EncodeToString(hash[:]), service, t.config.Region, time.Now()); err != nil {
		return nil, fmt.Errorf("signing a request: %w", err)
	}
	return t.config.Next.RoundTrip(signed)
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	return body, errors.Join(err, r.Body.Close())
}

// CloseIdleConnections closes those of the transport that it sends with.
func (t *Transport) CloseIdleConnections() {
	if closer, ok := t.config.Next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// gateway is what hosts of API Gateway are called, also behind an endpoint of a VPC, and in China.
var gateway = regexp.MustCompile(`^[a-z0-9-]+\.execute-api\.([a-z0-9-]+)\.(?:vpce\.)?amazonaws\.com(?:\.cn)?$`)

// RegionOf gives the region of an API Gateway's host, with or without a port; "" if it is none, or goes by a name of its own.
func RegionOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if parts := gateway.FindStringSubmatch(strings.ToLower(host)); parts != nil {
		return parts[1]
	}
	return ""
}
