package api

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/reprise-run/reprise/infra/api/client"
)

// guard is [Guard] for a handler that sets the time for each body when it reads it.
func (h *Handler) guard(listen string, next http.Handler) http.Handler {
	guarded := Guard(listen, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hurry(w, r)
		guarded.ServeHTTP(w, r)
	})
}

// Guard refuses what a page of another site makes a browser send to a server that listens at an
// address: requests from other origins and, at a loopback address, requests for any other host
// name. A site can point such a name here (DNS rebinding).
func Guard(listen string, next http.Handler) http.Handler {
	local := client.Loopback(listen)
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local && r.Host != "" && !client.Loopback(r.Host) {
			forbid(w, r, "requests for the host %q are refused: this server is for this machine "+
				"alone, use localhost or %s", r.Host, listen)
			return
		}
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		if origin != "" || site != "" {
			judged := *r
			judged.Method = http.MethodPost // whatever it is: pages could hold all waits with GETs
			if origins.Check(&judged) != nil {
				forbid(w, r, "a request from a page of %s is refused: browsers may use this "+
					"server only from its own pages", cmp.Or(origin, "another site ("+site+")"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// forbid answers a request whose body is not read.
func forbid(w http.ResponseWriter, r *http.Request, format string, args ...any) {
	hurry(w, r)
	Problem(w, client.Forbidden, fmt.Sprintf(format, args...))
}
