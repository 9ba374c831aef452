package aws

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

// mostAttempts of one request: with the pauses between them about 4 seconds, 8 at most.
const mostAttempts = 10

// Load gives the configuration that all clients are made from. Credentials, region and endpoints come from the environment,
// as with every program that uses the SDK; AWS_ENDPOINT_URL leads to LocalStack. Options are applied last, and win.
//
// A request that is throttled, or fails on its way, is tried 10 times in all, unless its context ends before, or
// AWS_MAX_ATTEMPTS says otherwise. An answer must begin within 10 seconds: who waits longer by intention (invoking a
// function, receiving with a wait) needs an HTTP client of its own.
//
// No request takes part in Lambda's recursive loop detection.
func Load(ctx context.Context, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	options = append([]func(*config.LoadOptions) error{config.WithHTTPClient(newHTTPClient())}, options...)
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("the AWS configuration was not read: %w", err)
	}
	if loaded.Retryer == nil { // as an option, it would have the SDK ignore AWS_MAX_ATTEMPTS
		loaded.Retryer = newRetryer
	}
	loaded.APIOptions = append(loaded.APIOptions, withoutLineage)
	return loaded, nil
}

// newRetryer retries inside the invocation's time: the SDK ends its pauses with the context.
//
// The SDK's own quota of retries is off. It is a bucket that the whole process shares, good for 100 failures: in the burst
// that a fan-out is, a table that grows throttles more requests than that, each of which a later attempt would have carried
// through, and the quota would have them fail at once. Nothing is gained by that here: what fails comes again by message, and
// costs more than the attempt that was spared. The load that retries add is bounded by their number and spread by jitter.
func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = mostAttempts
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return Backoff(attempt), nil })
	})
}

// newHTTPClient makes a client for a process that is frozen between its invocations. Connections stay open for the next
// one, for 90 seconds by the SDK's default: longer than the minute after which functions/timer is called again. One that the
// other side has given up meanwhile must not take the invocation with it; thus the limits of time.
func newHTTPClient() *awshttp.BuildableClient {
	const atOnce = 64 // requests to one service, of which each keeps its connection: the SDK would close all but 10
	return awshttp.NewBuildableClient().WithDialerOptions(func(d *net.Dialer) {
		d.Timeout = 3 * time.Second
	}).WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 4 * atOnce
		t.MaxIdleConnsPerHost = atOnce
		t.TLSHandshakeTimeout = 3 * time.Second
		t.ResponseHeaderTimeout = 10 * time.Second
	})
}
