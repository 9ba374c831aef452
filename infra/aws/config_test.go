package aws_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/aws"
)

// environment is that of a function, and nothing of this machine's.
func environment(t *testing.T, endpoint string) {
	t.Helper()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_CA_BUNDLE": "", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_MAX_ATTEMPTS": "", "AWS_RETRY_MODE": "",
		"AWS_NEW_RETRIES_2026": "", "AWS_ENDPOINT_URL": endpoint, "AWS_ENDPOINT_URL_SQS": "", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": ""} {
		t.Setenv(name, value)
	}
}

// service throttles so many requests, then answers.
type service struct {
	throttles int32
	requests  atomic.Int32
}

func (s *service) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if s.requests.Add(1) <= s.throttles {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"com.amazonaws.sqs#RequestThrottled","message":"slow down"}`))
		return
	}
	_, _ = w.Write([]byte(`{"Attributes":{"ApproximateNumberOfMessages":"3"}}`))
}

// Do answers without a network, so that a test's time can stand in for the real one.
func (s *service) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

func ask(ctx context.Context, loaded sdk.Config) error {
	queue := "http://127.0.0.1/queue"
	_, err := sqs.NewFromConfig(loaded).GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &queue})
	return err
}

func TestThrottledRequestsAreRetried(t *testing.T) {
	environment(t, "http://127.0.0.1")
	synctest.Test(t, func(t *testing.T) {
		s := &service{throttles: 9}
		loaded, err := aws.Load(t.Context(), config.WithHTTPClient(s))
		require.NoError(t, err)
		require.Equal(t, "eu-central-1", loaded.Region)
		begin := time.Now()
		require.NoError(t, ask(t.Context(), loaded))
		require.EqualValues(t, 10, s.requests.Load())
		require.Less(t, time.Since(begin), 10*time.Second)
		require.Greater(t, time.Since(begin), 500*time.Millisecond)
	})
}

// TestBurstIsRetried: no quota of retries ends what a later attempt would have carried through.
func TestBurstIsRetried(t *testing.T) {
	environment(t, "http://127.0.0.1")
	synctest.Test(t, func(t *testing.T) {
		s := &service{throttles: 400}
		loaded, err := aws.Load(t.Context(), config.WithHTTPClient(s))
		require.NoError(t, err)
		client := sqs.NewFromConfig(loaded)
		queue := "http://127.0.0.1/queue"
		var busy sync.WaitGroup
		for range 100 {
			busy.Go(func() {
				_, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &queue})
				require.NoError(t, err)
			})
		}
		busy.Wait()
		require.EqualValues(t, 500, s.requests.Load())
	})
}

func TestRetriesEnd(t *testing.T) {
	environment(t, "http://127.0.0.1")
	synctest.Test(t, func(t *testing.T) {
		s := &service{throttles: 1 << 30}
		loaded, err := aws.Load(t.Context(), config.WithHTTPClient(s))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		begin := time.Now()
		require.ErrorIs(t, ask(ctx, loaded), context.DeadlineExceeded)
		require.Equal(t, 300*time.Millisecond, time.Since(begin), "at the deadline, not after one more pause")
		require.Less(t, s.requests.Load(), int32(10))

		s.requests.Store(0)
		var exhausted *awsretry.MaxAttemptsError
		require.ErrorAs(t, ask(t.Context(), loaded), &exhausted)
		require.ErrorContains(t, exhausted, "slow down")
		require.EqualValues(t, 10, s.requests.Load())
	})
}

func TestAttemptsFromTheEnvironment(t *testing.T) {
	environment(t, "http://127.0.0.1")
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	synctest.Test(t, func(t *testing.T) {
		s := &service{throttles: 1 << 30}
		loaded, err := aws.Load(t.Context(), config.WithHTTPClient(s))
		require.NoError(t, err)
		require.Error(t, ask(t.Context(), loaded))
		require.EqualValues(t, 2, s.requests.Load())
	})
}

// TestConnectionsStayOpen: a burst of the next invocation finds the connections of the one before, of all clients.
func TestConnectionsStayOpen(t *testing.T) {
	var opened atomic.Int32
	const together = 32
	var all sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.Done()
		all.Wait() // all requests of a burst are under way at the same time
		(&service{}).ServeHTTP(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	environment(t, server.URL)
	loaded, err := aws.Load(t.Context())
	require.NoError(t, err)
	client := sqs.NewFromConfig(loaded)
	for range 3 {
		all.Add(together)
		var busy sync.WaitGroup
		for range together {
			busy.Go(func() {
				queue := server.URL + "/queue"
				_, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &queue})
				require.NoError(t, err)
			})
		}
		busy.Wait()
	}
	require.Less(t, opened.Load(), int32(2*together), "one more is opened where one is not back yet; without them, it would be three times as many")
}

func TestLoadRefuses(t *testing.T) {
	environment(t, "")
	t.Setenv("AWS_MAX_ATTEMPTS", "many")
	_, err := aws.Load(t.Context())
	require.ErrorContains(t, err, "the AWS configuration was not read")
}

func TestBackoff(t *testing.T) {
	for attempt, most := range map[int]time.Duration{-1: 50 * time.Millisecond, 1: 50 * time.Millisecond, 2: 100 * time.Millisecond,
		5: 800 * time.Millisecond, 7: 2 * time.Second, 1 << 40: 2 * time.Second} {
		var longest time.Duration
		for range 300 {
			pause := aws.Backoff(attempt)
			require.GreaterOrEqual(t, pause, time.Duration(0))
			require.LessOrEqual(t, pause, most, "attempt %d", attempt)
			longest = max(longest, pause)
		}
		require.Greater(t, longest, most*9/10, "attempt %d: all of the span is used", attempt)
	}
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, aws.Pause(t.Context(), 3))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, aws.Pause(ctx, 100), context.Canceled)
	})
}
