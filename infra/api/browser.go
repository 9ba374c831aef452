package api

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/reprise-run/reprise/infra/api/client"
)

// guard refuses what a page of another site has a browser send: requests whose Origin is not this server, and, where it
// listens on a loopback address, requests for any other host name, which a site can point here (DNS rebinding).
func (h *Handler) guard(listen string, next http.Handler) http.Handler {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = listen
	}
	local := loopback(host)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local && r.Host != "" && !loopback(hostOf(r.Host)) {
			h.fail(w, r, &problemError{http.StatusForbidden, client.Forbidden,
				fmt.Sprintf("requests for the host %q are refused: this server is for this machine alone, use localhost or %s", r.Host, listen)})
			return
		}
		if origin := foreign(r); origin != "" {
			h.fail(w, r, &problemError{http.StatusForbidden, client.Forbidden,
				fmt.Sprintf("a request from a page of %s is refused: browsers may use this server only from its own pages", origin)})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign gives the other site that a browser sends the request for; empty if there is none.
func foreign(r *http.Request) string {
	if origin := r.Header.Get("Origin"); origin != "" {
		if parsed, err := url.Parse(origin); err == nil && parsed.Host != "" && strings.EqualFold(parsed.Host, r.Host) {
			return ""
		}
		return origin
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return "another site (" + site + ")"
	}
	return ""
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
