package signing_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// account is who may call, and how a gateway knows it.
type account struct{ id, secret, token, region, service string }

// verify checks a signature as the algorithm is published, from what was received alone: nothing of it is shared with what
// signs. It gives what does not fit; "" if all does.
func (a account) verify(r *http.Request) string {
	given := r.Header.Get("Authorization")
	rest, ok := strings.CutPrefix(given, "AWS4-HMAC-SHA256 ")
	if !ok {
		return "Missing Authentication Token"
	}
	fields := map[string]string{}
	for _, field := range strings.Split(rest, ", ") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	at := r.Header.Get("X-Amz-Date")
	scope := fmt.Sprintf("%.8s/%s/%s/aws4_request", at, a.region, a.service)
	if fields["Credential"] != a.id+"/"+scope {
		return "The security token included in the request is invalid: " + fields["Credential"]
	}
	if r.Header.Get("X-Amz-Security-Token") != a.token {
		return "The session token is another"
	}
	names := strings.Split(fields["SignedHeaders"], ";")
	for name := range r.Header { // order-insensitive: a test of each
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") && !slices.Contains(names, lower) {
			return name + " is not signed"
		}
	}
	if !slices.Contains(names, "host") || !slices.IsSorted(names) {
		return "The signed headers are not as they must be: " + fields["SignedHeaders"]
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	canonical := canonicalOf(r, names, body)
	toSign := "AWS4-HMAC-SHA256\n" + at + "\n" + scope + "\n" + hash(canonical)
	key := []byte("AWS4" + a.secret)
	for _, part := range []string{at[:8], a.region, a.service, "aws4_request"} {
		key = mac(key, part)
	}
	if want := hex.EncodeToString(mac(key, toSign)); want != fields["Signature"] {
		return "The request signature we calculated does not match the signature you provided; the canonical request is\n" + canonical
	}
	return ""
}

func canonicalOf(r *http.Request, names []string, body []byte) string {
	path, query, _ := strings.Cut(r.RequestURI, "?")
	lines := []string{r.Method, escape(path, "/"), canonicalQuery(query)}
	for _, name := range names {
		values := r.Header.Values(name)
		switch name {
		case "host":
			values = []string{r.Host}
		case "content-length":
			values = []string{fmt.Sprint(r.ContentLength)}
		}
		lines = append(lines, name+":"+strings.Join(strings.Fields(strings.Join(values, ",")), " "))
	}
	return strings.Join(append(lines, "", strings.Join(names, ";"), hash(string(body))), "\n")
}

// canonicalQuery has the parameters escaped once, and sorted.
func canonicalQuery(query string) string {
	var pairs [][2]string
	for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' }) {
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.PathUnescape(name) // a plus is a plus
		value, _ = url.PathUnescape(value)
		pairs = append(pairs, [2]string{escape(name, ""), escape(value, "")})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var all []string
	for _, pair := range pairs {
		all = append(all, pair[0]+"="+pair[1])
	}
	return strings.Join(all, "&")
}

// escape is UriEncode: all bytes but letters, digits and -._~ and those kept.
func escape(text, kept string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		if 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("-._~"+kept, b) >= 0 {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// The verification itself is checked by an example that AWS publishes (get-vanilla of its test suite).
func TestVerificationIsAsPublished(t *testing.T) {
	known := account{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1", service: "service"}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Host = "example.amazonaws.com"
	request.Header.Set("X-Amz-Date", "20150830T123600Z")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "+
		"SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
	require.Empty(t, known.verify(request))
	request.URL.Path, request.RequestURI = "/other", "/other"
	require.Contains(t, known.verify(request), "does not match")
}
