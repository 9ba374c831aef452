package api

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/reprise-run/reprise/infra/api/client"
)

// guard refuses what a page of another site has a browser send: requests from other origins, and, where it listens on a
// loopback address, requests for any other host name, which a site can point here (DNS rebinding).
func (h *Handler) guard(listen string, next http.Handler) http.Handler {
	local := client.Loopback(listen)
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hurry(w, r)
		if local && r.Host != "" && !client.Loopback(r.Host) {
			h.fail(w, r, &problemError{http.StatusForbidden, client.Forbidden,
				fmt.Sprintf("requests for the host %q are refused: this server is for this machine alone, use localhost or %s", r.Host, listen)})
			return
		}
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		if origin != "" || site != "" {
			judged := *r
			judged.Method = http.MethodPost // whatever it is: pages could hold all waits with GETs
			if origins.Check(&judged) != nil {
				h.fail(w, r, &problemError{http.StatusForbidden, client.Forbidden,
					fmt.Sprintf("a request from a page of %s is refused: browsers may use this server only from its own pages", cmp.Or(origin, "another site ("+site+")"))})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
