package httpexec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	httpexec "github.com/reprise-run/reprise/infra/executor/http"
)

// TestTargets: each URL, with the rules of one server, and what a registration of it is told; "" if
// it is allowed.
func TestTargets(t *testing.T) {
	loopback, private := []string{"loopback"}, []string{"10.0.0.0/8", "[fd00:1::]:9000",
		"192.168.1.7:80"}
	for _, c := range []struct {
		rules []string
		url   string
		error string
	}{
		{nil, "http://127.0.0.1:9000", `the operator can add "127.0.0.1" with --allow-worker`},
		{nil, "http://example.com", `the operator can add "example.com" with --allow-worker`},
		{nil, "http://93.184.216.34", "no rule allows it"},

		{loopback, "http://127.0.0.1:9000", ""},
		{loopback, "http://127.8.9.10:1/prefix/", ""},
		{loopback, "http://localhost:9000", ""},
		{loopback, "http://LOCALHOST.:9000", ""},
		{loopback, "https://[::1]:9000", ""},
		{loopback, "http://[::ffff:127.0.0.1]:9000", ""},
		{loopback, "http://10.0.0.1:9000", "no rule allows it"},
		{loopback, "http://[::ffff:10.0.0.1]:9000", "no rule allows it"},
		{loopback, "http://localhost.example.com", "no rule allows it"},
		{loopback, "http://notlocalhost", "no rule allows it"},

		{loopback, "http://127.0.0.1:0", "its port must be between 1 and 65535"},
		{loopback, "http://127.0.0.1:65536", "its port must be between 1 and 65535"},
		{loopback, "ftp://127.0.0.1", "its scheme must be http or https"},
		{loopback, "file:///etc/passwd", "its scheme must be http or https"},
		{loopback, "127.0.0.1:9000", "cannot be parsed"},
		{loopback, "localhost:9000", "its scheme must be http or https"},
		{loopback, "", "its scheme must be http or https"},
		{loopback, "http://", "it has no host"},
		{loopback, "http://user:hush@127.0.0.1", "it must not contain a user or a password"},
		{loopback, "http://127.0.0.1@169.254.169.254/", "it must not contain a user or a password"},
		{loopback, "http://127.0.0.1/?x=", "it must not contain a query or a fragment"},
		{loopback, "http://127.0.0.1?", "it must not contain a query or a fragment"},
		{loopback, "http://127.0.0.1/#x", "it must not contain a query or a fragment"},
		{loopback, "http://127.0.0.1\\@evil.example", "cannot be parsed"},
		{loopback, "http://127.0.0.1\r\nHost: x", "cannot be parsed"},
		{loopback, "http://2130706433:9000", "is neither an address nor a name"},
		{loopback, "http://0x7f.1:9000", "is neither an address nor a name"},
		{loopback, "http://0x7f000001:9000", "is neither an address nor a name"},
		{loopback, "http://127.1:9000", "is neither an address nor a name"},
		{loopback, "http://0177.0.0.1:9000", "is neither an address nor a name"},
		{loopback, "http://lоcalhost", "is neither an address nor a name"}, // a Cyrillic o

		{loopback, "http://169.254.169.254/latest", "169.254.169.254 is a link-local address, " +
			"which is never called"},
		{loopback, "http://[::ffff:169.254.169.254]", "is a link-local address, which is never " +
			"called"},
		{loopback, "http://[::ffff:a9fe:a9fe]", "is a link-local address, which is never called"},
		{loopback, "http://[64:ff9b::a9fe:a9fe]", "another one is embedded in"},
		{loopback, "http://[2002:a9fe:a9fe::1]", "another one is embedded in"},
		{loopback, "http://[::7f00:1]", "another one is embedded in"},
		{loopback, "http://[fd00:ec2::254]", "is a metadata service"},
		{loopback, "http://100.100.100.200", "is a metadata service"},
		{loopback, "http://[fe80::1]", "is a link-local address"},
		{loopback, "http://[fe80::1%25eth0]", "must not have a zone"},
		{loopback, "http://0.0.0.0:9000", "is the unspecified address"},
		{loopback, "http://[::]:9000", "is the unspecified address"},
		{loopback, "http://224.0.0.1", "is a multicast address"},

		{private, "http://10.255.0.1:1234", ""},
		{private, "http://192.168.1.7", ""},
		{private, "http://192.168.1.7:81", "no rule allows it"},
		{private, "https://192.168.1.7", "no rule allows it"},
		{private, "http://[fd00:1::]:9000", ""},
		{private, "http://[fd00:1::1]:9000", "no rule allows it"},
		{private, "http://11.0.0.1", "no rule allows it"},
		{private, "http://127.0.0.1", "no rule allows it"},

		// no name server knows it: the call looks again
		{[]string{"*.invalid"}, "http://a.b.invalid:1", ""},
		{[]string{"*.invalid"}, "http://invalid", "no rule allows it"},
		{[]string{"*.invalid"}, "http://xinvalid", "no rule allows it"},
		{[]string{"w.invalid:9000"}, "http://W.invalid:9000", ""},
		{[]string{"w.invalid:9000"}, "http://w.invalid:9001", "no rule allows it"},
		{[]string{"localhost"}, "http://localhost:9000", "127.0.0.1 is not public, and no rule " +
			"allows it"},
		{[]string{"localhost", "127.0.0.0/8", "::1"}, "http://localhost:9000", ""},
	} {
		allow, err := httpexec.ParseAllow(c.rules)
		require.NoError(t, err)
		err = allow.Check(t.Context(), c.url)
		if c.error == "" {
			require.NoError(t, err, "%v %s", c.rules, c.url)
			continue
		}
		if len(c.rules) == 1 && c.rules[0] == "localhost" { // ::1 may be the first address
			require.ErrorContains(t, err, "is not public, and no rule allows it")
			continue
		}
		require.ErrorContains(t, err, c.error, "%v %s", c.rules, c.url)
		require.NotContains(t, err.Error(), "hush")
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	for rule, want := range map[string]string{
		"":           "it is loopback, an address",
		"http://a":   "it is loopback",
		"*":          "it is loopback",
		"a.*":        "it is loopback",
		"a:0":        "it is loopback",
		"a:65536":    "it is loopback",
		"a b":        "it is loopback",
		"a/b":        "it is loopback",
		"2130706433": "it is loopback", "10.0.0.0/33": "it is loopback", "user@a": "it is loopback",
		"169.254.0.0/16":         "is a link-local address, which is never called",
		"169.254.169.254:80":     "never called",
		"::ffff:169.254.169.254": "never called", "0.0.0.0": "never called",
	} {
		_, err := httpexec.ParseAllow([]string{"loopback", rule})
		require.ErrorContains(t, err, want, "%q", rule)
	}
}

func FuzzCheck(f *testing.F) {
	for _, url := range []string{"http://127.0.0.1:9000/a", "http://[::ffff:169.254.169.254]",
		"http://0x7f.1", "http://a@b:1"} {
		f.Add("10.0.0.0/8", url)
	}
	f.Fuzz(func(t *testing.T, rule, url string) {
		allow, err := httpexec.ParseAllow([]string{rule})
		if err == nil && rule != "loopback" {
			require.Error(t, allow.Check(t.Context(), "http://169.254.169.254/"+url))
		}
		nothing, err := httpexec.ParseAllow(nil)
		require.NoError(t, err)
		require.Error(t, nothing.Check(t.Context(), url), "no rule, no target")
	})
}
