package client

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/reprise-run/reprise/core/port"
)

// between makes a problem of an answer that is not the API's, but of a gateway or a proxy before it. Those of API Gateway
// are known: JSON with a message alone.
func between(host string, status int, body []byte) *Problem {
	title := http.StatusText(status)
	const most = 200
	said := fmt.Sprintf("%s answered %d %s, and not as this API does: %.*q", host, status, title, most, body)
	gateway := struct{ Message *string }{}
	if json.Unmarshal(body, &gateway) == nil && gateway.Message != nil {
		said = fmt.Sprintf("the gateway at %s answered %d %s (%.*s)", host, status, title, most, *gateway.Message)
	}
	p := &Problem{Type: "about:blank", Title: title, Code: port.Internal, Detail: said}
	switch status {
	case http.StatusUnauthorized:
		p.Code = Unauthenticated
	case http.StatusForbidden:
		p.Code = Forbidden
		p.Detail += ": on AWS, requests must be signed by somebody who has the permission execute-api:Invoke, and the address must end with the " +
			"name of the stage; the command line signs with the credentials of the environment for hosts of execute-api, and for others with " +
			"--sign; a Go program with the package infra/aws/signing"
	case http.StatusRequestEntityTooLarge:
		p.Code = port.TooLarge
		p.Detail += ": the request is longer than what lies before the API lets through (on AWS, 6 MB): store a large value elsewhere and pass where it is"
	case http.StatusTooManyRequests: // it went no further
		p.Code = port.Unavailable
		p.Detail += ": too many requests, try again"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		p.Code, p.unsure = port.Unavailable, true
		p.Detail += ": the API behind it did not answer, or not in time; if it stays so, the log of functions/api says why"
	}
	return p
}
