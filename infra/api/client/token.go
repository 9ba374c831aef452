package client

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// bearer makes an HTTP client that sends a token with what goes to one address: not to where a redirection leads.
func bearer(plain *http.Client, to *url.URL, token string) *http.Client {
	with := *plain
	with.Transport = &bearerTransport{scheme: to.Scheme, host: to.Host, token: token, next: plain.Transport}
	if plain.Transport == nil {
		with.Transport.(*bearerTransport).next = http.DefaultTransport
	}
	return &with
}

type bearerTransport struct {
	scheme, host, token string
	next                http.RoundTripper
}

func (t *bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == t.scheme && r.URL.Host == t.host {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections closes those of the transport that it sends with.
func (t *bearerTransport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// Loopback says whether a host, with or without a port, is surely this machine: localhost, or a loopback address. No other name is,
// whatever it means just now.
func Loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
