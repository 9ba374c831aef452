package flow

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// servicesInParams checks the services of a parallel that its own params name.
func (p *parser) servicesInParams(n *Node, at *place) {
	text, has := n.Params["services"]
	if !has || len(n.Services) > 0 {
		return
	}
	list, err := decode[[]string](text)
	if err != nil {
		p.add(at,
			"the services of a parallel are an array of strings, such as [\"sum\", \"go:charge\"]")
	}
	for i, service := range list {
		p.service(service, at.at(strconv.Itoa(i)))
	}
}

func (p *parser) readService(n *Node, v value, at *place) {
	n.Service = p.string(v, at)
	if n.Service != "" {
		p.service(n.Service, at)
	}
}

func (p *parser) readServices(n *Node, v value, at *place) {
	n.Services = p.strings(v, at)
	if len(n.Services) > MaxCalls {
		p.add(at, "a parallel calls at most %d services; got %d", MaxCalls, len(n.Services))
		return
	}
	for i, service := range n.Services {
		if p.full() {
			return
		}
		p.service(service, at.at(strconv.Itoa(i)))
	}
}

// service checks the name of a service.
func (p *parser) service(name string, at *place) {
	if problem := invalidService(name); problem != "" {
		p.add(at, "%s", problem)
	}
}

// invalidService names the mistake in the name of a service; empty if there is none.
func invalidService(name string) string {
	for _, prefix := range []string{"process:", "lambda:", "cloudrun:"} {
		if strings.HasPrefix(name, prefix) {
			return fmt.Sprintf(
				"the executor %q is not available yet: use a worker's service, or a Go activity "+
					"\"go:NAME\"", strings.TrimSuffix(prefix, ":"))
		}
	}
	if !plainName(name) {
		return "the name of a service has no control characters"
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(name, HTTP), Go)
	if most := MaxName - len(HTTP); bare == "" || len(bare) > most {
		return fmt.Sprintf(
			"the name of a service has 1 to %d bytes, this one has %d", most, len(bare))
	}
	return ""
}

func (p *parser) readWorkflow(n *Node, v value, at *place) {
	if n.Workflow = p.string(v, at); !plainName(n.Workflow) {
		p.add(at, "the name of a workflow has no control characters")
	}
	if len(n.Workflow) > MaxName {
		p.add(at,
			"the name of a workflow has at most %d bytes, this one has %d",
			MaxName, len(n.Workflow))
	}
}

// plainName says whether a name can be shown as it is, as the engine asks of names.
func plainName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || r == utf8.RuneError
	})
}
