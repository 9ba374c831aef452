package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
)

// problemError is an error of the door's own, where the engine's codes alone would not give the status.
type problemError struct {
	status  int
	code    port.Code
	message string
}

func (e *problemError) Error() string { return e.message }

// statusOf maps the codes of errors, here and nowhere else.
func statusOf(code port.Code) (status int, title string) {
	switch code {
	case port.Invalid:
		return http.StatusBadRequest, "Invalid request"
	case port.NotFound:
		return http.StatusNotFound, "Not found"
	case port.Conflict:
		return http.StatusConflict, "Conflict"
	case port.Closed: // the run itself can still be read, so it is not gone
		return http.StatusConflict, "Run closed"
	case port.Expired:
		return http.StatusGone, "Token expired"
	case port.Rejected:
		return http.StatusUnprocessableEntity, "Rejected by the workflow"
	case port.Blocked:
		return http.StatusLocked, "Run blocked"
	case port.TooLarge:
		return http.StatusRequestEntityTooLarge, "Too large"
	case port.Unavailable:
		return http.StatusServiceUnavailable, "Try again later"
	case client.Unauthenticated:
		return http.StatusUnauthorized, "Authentication required"
	case client.Forbidden:
		return http.StatusForbidden, "Forbidden"
	}
	return http.StatusInternalServerError, "Internal error"
}

// fail answers with a problem.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, message := port.CodeOf(err), err.Error()
	status, title := statusOf(code)
	own := (*problemError)(nil)
	switch {
	case errors.As(err, &own):
		code = own.code
		_, title = statusOf(code)
		status = own.status
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // the caller has gone, or the server goes
		code = port.Unavailable
		status, title = statusOf(code)
	case code == port.Internal:
		// Not the path: a completion token may be in it.
		h.config.Logger.ErrorContext(r.Context(), "a request failed", "endpoint", r.Pattern, "run", r.PathValue("run"), "error", err)
	}
	if h.plain[r.URL.Path] {
		failPlain(w, status, err.Error())
		return
	}
	problem := &client.Problem{Type: "urn:reprise:problem:" + string(code), Title: title,
		Status: status, Code: code, Detail: message}
	if source := port.SourceProblems(nil); errors.As(err, &source) {
		problem.Problems = problemsOf(source)
	}
	writeProblem(w, problem)
}

// Problem answers with a problem that has the status of its code.
func Problem(w http.ResponseWriter, code port.Code, detail string) {
	status, title := statusOf(code)
	writeProblem(w, &client.Problem{Type: "urn:reprise:problem:" + string(code), Title: title,
		Status: status, Code: code, Detail: detail})
}

func writeProblem(w http.ResponseWriter, problem *client.Problem) {
	if problem.Code == port.Unavailable {
		w.Header().Set("Retry-After", "1")
	}
	respond(w, problem.Status, "application/problem+json", problem)
}

// nothingHere answers what no endpoint takes.
func (h *Handler) nothingHere(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut,
		http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := h.mux.Handler(other); strings.HasPrefix(pattern, method) && !slices.Contains(allowed, method) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		h.fail(w, r, &problemError{http.StatusMethodNotAllowed, port.Invalid, r.Method +
			" is not for " + r.URL.Path + ": use " + strings.Join(allowed, " or ")})
		return
	}
	h.fail(w, r, &problemError{http.StatusNotFound, port.NotFound, "there is nothing at " +
		r.Method + " " + r.URL.Path + ": /v1/openapi.json lists what there is"})
}
