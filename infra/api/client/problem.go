package client

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// The codes that there are beside the engine's.
const (
	// Unauthenticated: the server asks who somebody is, and the request brought none of its tokens.
	Unauthenticated port.Code = "unauthenticated"
	// Forbidden: a browser made the request for another site, or a gateway before the API let nobody through with it.
	Forbidden port.Code = "forbidden"
)

// Problem is an error that the API answered with (RFC 9457). Find it with errors.As, and decide by its code.
type Problem struct {
	// Type is a URI of the kind of problem: urn:reprise:problem: and the code.
	Type string `json:"type" doc:"A URI of the kind of problem: urn:reprise:problem: and the code." example:"urn:reprise:problem:not-found"`
	// Title is the same for every problem of a code.
	Title string `json:"title" doc:"What kind of problem it is, in words." example:"Not found"`
	// Status of the HTTP response.
	Status int `json:"status" doc:"The HTTP status." example:"404"`
	// Code is stable: programs decide by it.
	Code port.Code `json:"code" doc:"What kind of problem it is, as a stable code: programs decide by it." example:"not-found"`
	// Detail says what happened, where, and what to do.
	Detail string `json:"detail" doc:"What happened, where, and what to do." example:"there is no run with the id \"order-17\""`

	// Problems are all mistakes of a source that was refused; the detail repeats them.
	Problems []wire.SourceProblem `json:"problems,omitempty" doc:"All mistakes of a source that was refused; missing with other problems."`

	// unsure: what was asked for may have been done all the same.
	unsure bool
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// CodeOf gives the code of an error that came from the API; empty if it did not.
func CodeOf(err error) port.Code {
	if p := (*Problem)(nil); errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// problemOf reads an answer that is not a success. What is not a problem came from something between here and the API.
func problemOf(response *http.Response, body []byte) *Problem {
	p := &Problem{}
	if json.Unmarshal(body, p) != nil || p.Code == "" {
		p = between(response.Request.URL.Host, response.StatusCode, body)
	}
	p.Status = response.StatusCode
	return p
}
