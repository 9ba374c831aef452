package program

import (
	"net"
	"net/http"
	"strings"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/infra/api/client"
)

// guarded keeps web pages that a user of this machine has open from reaching the server through the browser: neither from
// their own origin, nor under a name that they had resolve to this machine.
func guarded(inner http.Handler, insecure bool) http.Handler {
	sameOrigin := http.NewCrossOriginProtection().Handler(inner)
	if insecure { // then it has whatever name others know it by
		return sameOrigin
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !nameless(r.Host) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			writeJSON(w, client.Problem{Type: "about:blank", Title: http.StatusText(http.StatusForbidden), Status: http.StatusForbidden, Code: engine.Invalid,
				Detail: "this server is asked for by an address, or as localhost, not as " + r.Host})
			return
		}
		sameOrigin.ServeHTTP(w, r)
	})
}

// nameless says whether a Host header names no name that could be made to mean this machine.
func nameless(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil
}
