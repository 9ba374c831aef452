package signing_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/infra/aws/signing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var caller = account{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token: "to/ken+==", region: "eu-west-1", service: "execute-api"}

// gateway lets signed requests through, and answers what it received.
func gateway(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wrong := caller.verify(r); wrong != "" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, wrong)
			return
		}
		_, _ = io.WriteString(w, r.Method+" "+r.RequestURI)
	}))
	t.Cleanup(server.Close)
	return server
}

// transport signs as the caller.
func transport(t *testing.T) *http.Client {
	t.Helper()
	client := &http.Client{Transport: signing.New(signing.Config{Region: caller.region, Next: &http.Transport{},
		Credentials: credentials.NewStaticCredentialsProvider(caller.id, caller.secret, caller.token)})}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func send(t *testing.T, client *http.Client, method, address string, body io.Reader) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, body)
	require.NoError(t, err)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func TestSigned(t *testing.T) {
	server, client := gateway(t), transport(t)
	for _, path := range []string{"", "/", "/v1/runs", "/stage/v1/runs/order-17", "/v1/runs/" + url.PathEscape("a b"), "/v1/runs/" + url.PathEscape("50%25 of ä/ö€"),
		"/v1/runs/" + url.PathEscape("a:b@c&d=e+f$g,h;i~j!k'l(m)*n"), "/v1/runs/" + url.PathEscape("日本 🙂"), "/v1/runs?limit=20&blocked=true",
		"/v1/runs?" + url.Values{"attribute": {`z="ä b+c"`, `a=1&2`}, "cursor": {"run x#y/z"}, "empty": {""}}.Encode()} {
		for _, body := range []io.Reader{nil, strings.NewReader(`{"input":"ä"}`), struct{ io.Reader }{strings.NewReader("of a length that nobody knows")}, strings.NewReader("")} {
			method := http.MethodGet
			if body != nil {
				method = http.MethodPost
			}
			status, text := send(t, client, method, server.URL+path, body)
			require.Equal(t, http.StatusOK, status, text)
			sent, _, _ := strings.Cut(path, "?")
			require.True(t, strings.HasPrefix(text, method+" "+sent), text)
		}
	}
}

// What is not as it was signed does not pass: the verification sees what it is there to see.
func TestChangedOnTheWay(t *testing.T) {
	server := gateway(t)
	for name, change := range map[string]func(*http.Request){
		"path":  func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/v1/runs/b", "" },
		"query": func(r *http.Request) { r.URL.RawQuery = "wait=2s" },
		"body":  func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"input":2}`)) },
		"token": func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "another") },
		"none":  func(r *http.Request) { r.Header.Del("Authorization") },
	} {
		wire := &http.Transport{}
		client := &http.Client{Transport: signing.New(signing.Config{Region: caller.region, Next: roundTrip(func(r *http.Request) (*http.Response, error) {
			change(r)
			return wire.RoundTrip(r)
		}), Credentials: credentials.NewStaticCredentialsProvider(caller.id, caller.secret, caller.token)})}
		status, text := send(t, client, http.MethodPost, server.URL+"/v1/runs/a?wait=1s", strings.NewReader(`{"input":1}`))
		require.Equal(t, http.StatusForbidden, status, "%s: %s", name, text)
		wire.CloseIdleConnections()
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Who sends a request again has it signed again, with the credentials of then; the request itself stays as it was.
func TestEachTimeAnew(t *testing.T) {
	server := gateway(t)
	asked := 0
	provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		asked++
		if asked == 1 {
			return aws.Credentials{AccessKeyID: "OLD", SecretAccessKey: "old", SessionToken: "old"}, nil
		}
		return aws.Credentials{AccessKeyID: caller.id, SecretAccessKey: caller.secret, SessionToken: caller.token}, nil
	})
	signed := signing.New(signing.Config{Credentials: provider, Region: caller.region, Next: &http.Transport{}})
	defer signed.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/runs?b=2&a=1", nil)
	require.NoError(t, err)
	for _, want := range []int{http.StatusForbidden, http.StatusOK} {
		response, err := signed.RoundTrip(request)
		require.NoError(t, err)
		response.Body.Close()
		require.Equal(t, want, response.StatusCode)
		require.Empty(t, request.Header)
		require.Equal(t, "b=2&a=1", request.URL.RawQuery)
	}
	missing := errors.New("the profile is gone")
	failing := signing.New(signing.Config{Region: caller.region, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, missing
	})})
	_, err = failing.RoundTrip(request)
	require.ErrorIs(t, err, signing.ErrNoCredentials)
	require.ErrorIs(t, err, missing)
}

// nobody has the default chain find nothing.
func nobody(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestLoad(t *testing.T) {
	nobody(t)
	_, err := signing.Load(t.Context(), "")
	require.ErrorIs(t, err, signing.ErrNoRegion)
	_, err = signing.Load(t.Context(), "eu-west-1")
	require.ErrorIs(t, err, signing.ErrNoCredentials)
	require.ErrorContains(t, err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

	t.Setenv("AWS_ACCESS_KEY_ID", caller.id)
	t.Setenv("AWS_SECRET_ACCESS_KEY", caller.secret)
	t.Setenv("AWS_SESSION_TOKEN", caller.token)
	t.Setenv("AWS_REGION", "us-east-2")
	config, err := signing.Load(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "us-east-2", config.Region)
	config, err = signing.Load(t.Context(), "eu-west-1")
	require.NoError(t, err)
	config.Next = &http.Transport{}
	client := &http.Client{Transport: signing.New(config)}
	defer client.CloseIdleConnections()
	status, text := send(t, client, http.MethodGet, gateway(t).URL+"/v1/info", nil)
	require.Equal(t, http.StatusOK, status, text)

	t.Setenv("AWS_PROFILE", "nosuch")
	_, err = signing.Load(t.Context(), "eu-west-1")
	require.ErrorIs(t, err, signing.ErrNoCredentials)
	require.ErrorContains(t, err, "nosuch")
}

func TestRegionOf(t *testing.T) {
	for host, region := range map[string]string{
		"abc123.execute-api.eu-west-1.amazonaws.com":                 "eu-west-1",
		"ABC123.execute-api.us-gov-west-1.amazonaws.com:443":         "us-gov-west-1",
		"abc123.execute-api.cn-north-1.amazonaws.com.cn":             "cn-north-1",
		"abc123-vpce-0a1b.execute-api.eu-west-1.amazonaws.com":       "eu-west-1",
		"vpce-0a1b-2c.execute-api.ap-southeast-2.vpce.amazonaws.com": "ap-southeast-2",
		"execute-api.eu-west-1.amazonaws.com":                        "",
		"abc123.execute-api.eu-west-1.amazonaws.com.evil.example":    "",
		"abc123.execute-api.eu-west-1.amazonaws.example":             "",
		"abc.lambda-url.eu-west-1.on.aws":                            "",
		"api.example.com":                                            "", "127.0.0.1:7717": "", "localhost": "", "": "",
	} {
		require.Equal(t, region, signing.RegionOf(host), host)
	}
}
