package program_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
)

// makeToken has the command line make one.
func makeToken(t *testing.T, list, name string) string {
	t.Helper()
	got := command(t.Context(), "", "token", name, "--auth-tokens", list)
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^reprise_[a-z2-7]{26}\n$`, got.out)
	return strings.TrimSpace(got.out)
}

func TestTokensLetIn(t *testing.T) {
	folder := t.TempDir()
	list := filepath.Join(folder, "tokens")
	ann, bob := makeToken(t, list, "ann"), makeToken(t, list, "bob")
	info, err := os.Stat(list)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	require.NotContains(t, string(text), ann, "a hash alone")
	require.Equal(t, 5, command(t.Context(), "", "token", "ann", "--auth-tokens", list).code, "a name of two tokens is of no use")

	s := serve(t, t.TempDir(), "--auth-tokens", list)
	refused := s.ask(t.Context(), "", "list")
	require.Equal(t, outcome{code: 5, err: "reprise: this server asks who you are: send one of its tokens in the header Authorization: Bearer TOKEN\n" +
		"set REPRISE_TOKEN, or name a file with --token-file; `reprise token` makes one\n"}, refused)
	for _, token := range []string{ann, bob} {
		t.Setenv("REPRISE_TOKEN", token)
		require.Zero(t, s.ask(t.Context(), "", "start", "greet", "--input", `"Ada"`, "--wait").code)
	}
	t.Setenv("REPRISE_TOKEN", "somebody-elses-token")
	require.Contains(t, s.ask(t.Context(), "", "list").err, "does not know the token")

	withFile := func(file string) outcome { return s.ask(t.Context(), "", "list", "--token-file", file) }
	own := filepath.Join(folder, "own")
	write(t, own, ann+"\n")
	require.Zero(t, withFile(own).code, "a file counts more than the environment")
	require.NoError(t, os.Chmod(own, 0o644))
	require.Equal(t, outcome{code: 2, err: "reprise: others may read or write " + own + ": chmod 600 " + own + "\n"}, withFile(own))
	write(t, own, "two words")
	require.NoError(t, os.Chmod(own, 0o600))
	require.Contains(t, withFile(own).err, "does not hold one token, and nothing else")

	s.stop()
	require.NotContains(t, s.said(), ann)
	require.NotContains(t, s.said(), "somebody-elses-token")

	write(t, list, strings.SplitAfter(string(text), "\n")[1]) // ann's line is taken out
	again := serve(t, s.Data, "--auth-tokens", list)
	t.Setenv("REPRISE_TOKEN", ann)
	require.Equal(t, 5, again.ask(t.Context(), "", "list").code)
	t.Setenv("REPRISE_TOKEN", bob)
	require.Zero(t, again.ask(t.Context(), "", "list").code)
}

// TestATokenIsWrittenToAFileOfItsOwn: what token writes, --token-file takes; its role and its expiry reach the list.
func TestATokenIsWrittenToAFileOfItsOwn(t *testing.T) {
	folder := t.TempDir()
	list, file := filepath.Join(folder, "tokens"), filepath.Join(folder, "ada.token")
	made := command(t.Context(), "", "token", "ada", "--auth-tokens", list, "--token-file", file, "--role", "read", "--expires-in", "1h")
	require.Zero(t, made.code, made.err)
	require.Empty(t, made.out, "the token is in the file alone")
	again := command(t.Context(), "", "token", "bob", "--auth-tokens", list, "--token-file", file)
	require.Equal(t, outcome{code: 5, err: "reprise: " + file + " exists: choose another file for the token\n"}, again)
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	require.Regexp(t, `^ada:[0-9a-f]{64} role=read expires=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$`, string(text))
	require.Equal(t, 2, command(t.Context(), "", "token", "eve", "--auth-tokens", list, "--role", "root").code)

	s := serve(t, t.TempDir(), "--auth-tokens", list)
	require.Zero(t, s.ask(t.Context(), "", "list", "--token-file", file).code)
	refused := s.ask(t.Context(), "", "start", "greet", "--token-file", file)
	require.Equal(t, 5, refused.code)
	require.Contains(t, refused.err, "the token ada has the role read, and this needs the role operate")
}

func TestOneTokenOfTheEnvironment(t *testing.T) {
	t.Setenv("REPRISE_TOKEN", "too short")
	require.Equal(t, 2, command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", t.TempDir()).code)
	t.Setenv("REPRISE_TOKEN", "twenty-characters-at-least")
	s := serve(t, t.TempDir())
	require.Zero(t, s.ask(t.Context(), "", "list").code)
	t.Setenv("REPRISE_TOKEN", "")
	require.Equal(t, 5, s.ask(t.Context(), "", "list").code)
}

func TestListsThatAreRefused(t *testing.T) {
	list := filepath.Join(t.TempDir(), "tokens")
	dev := func() string {
		got := command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--auth-tokens", list)
		require.Equal(t, 2, got.code)
		return got.err
	}
	require.Contains(t, dev(), "no such file")
	write(t, list, "# nobody yet\n\n")
	require.Contains(t, dev(), "lists no token")
	write(t, list, "ann reprise_abc\n")
	require.Contains(t, dev(), "line 1 is not a name, a colon and a SHA-256 in hexadecimal")
	require.NoError(t, os.Chmod(list, 0o620))
	require.Contains(t, dev(), "others may write "+list+": chmod 600 "+list)
	require.Contains(t, command(t.Context(), "", "token", "an n", "--auth-tokens", list).err, "without #, : and white space")
	require.Contains(t, command(t.Context(), "", "token", "ann").err, "--auth-tokens names the list")
}

// TestBeyondThisMachine: nothing listens there without tokens, nor, untold, without encryption; and clients send no token.
func TestBeyondThisMachine(t *testing.T) {
	dev := func(args ...string) string {
		got := command(t.Context(), "", append([]string{"dev", "--listen", "0.0.0.0:0", "--data", t.TempDir()}, args...)...)
		require.Equal(t, 2, got.code)
		return got.err
	}
	require.Contains(t, dev(), "there are no tokens")
	require.Contains(t, dev("--plain-http"), "there are no tokens")
	t.Setenv("REPRISE_TOKEN", "twenty-characters-at-least")
	require.Contains(t, dev(), "plain HTTP could be read on the way, tokens included")
	require.Contains(t, dev("--tls-cert", "x"), "tls-key")

	got := command(t.Context(), "", "list", "--address", "http://192.0.2.1:7717")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "a token is not sent over plain HTTP to another machine (192.0.2.1:7717): use https, or say --plain-http")
}

// certificate makes one for this machine, and gives its files and what trusts it.
func certificate(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))
	write(t, cert, text)
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	trust = x509.NewCertPool()
	require.True(t, trust.AppendCertsFromPEM([]byte(text)))
	return cert, key, trust
}

func TestHTTPS(t *testing.T) {
	cert, key, trust := certificate(t)
	t.Setenv("REPRISE_TOKEN", "twenty-characters-at-least")
	s := serve(t, t.TempDir(), "--tls-cert", cert, "--tls-key", key)
	require.Regexp(t, `^https://127\.0\.0\.1:\d+$`, s.Address)
	trusting := client.NewTransport()
	trusting.TLSClientConfig = &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}
	c, err := client.New(client.Config{Address: s.Address, Token: "twenty-characters-at-least", HTTP: &http.Client{Transport: trusting}})
	require.NoError(t, err)
	defer c.Close()
	info, err := c.Info(t.Context())
	require.NoError(t, err)
	require.Contains(t, info.Workflows, "greet")

	got := s.ask(t.Context(), "", "list")
	require.Equal(t, 3, got.code, "a certificate that nobody trusts")
	require.Contains(t, got.err, "certificate")
	got = command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--tls-cert", key, "--tls-key", key)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "--tls-cert "+key)
}
