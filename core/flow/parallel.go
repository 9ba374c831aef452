package flow

import (
	"encoding/json"
	"strconv"
	"strings"
)

// parallel calls several services with the same input (S4.42–S4.45).
func (v *visit) parallel() (outcome, error) {
	services, failure := v.services()
	if failure != nil {
		return v.end(nil, "", failure)
	}
	input := v.frame.Now.Input
	return v.fanOut(calls{
		total: len(services),
		size:  len(services) * len(input),
		input: func(int) json.RawMessage { return input },
		serve: func(i int) string { return services[i] },
		names: branches(services),
	})
}

// services are those of the node, else those of params.services. Services that only the task names
// are workers' services: the caller of a task must not choose a Go activity.
func (v *visit) services() ([]string, *NodeFailure) {
	if len(v.node.Services) > 0 {
		return v.node.Services, nil
	}
	services, err := decode[[]string](orNull(v.params["services"]))
	switch {
	case err != nil:
		return nil, failed("params.services must be an array of strings")
	case len(services) > MaxCalls:
		return nil, failed(
			"params.services has %d services, the limit is %d", len(services), MaxCalls)
	case v.node.Params["services"] != nil:
		return services, nil
	}
	for _, service := range services {
		if strings.HasPrefix(service, Go) {
			return nil, failed(
				"the task asks for the service %q: only the definition itself can name a Go "+
					"activity", cut(service))
		}
	}
	return services, nil
}

// branches names the calls of a parallel by their services; those of one service are counted.
func branches(services []string) func(int) string {
	seen := map[string]int{}
	names := make([]string, len(services))
	for i, service := range services {
		if seen[service]++; seen[service] > 1 {
			service += "#" + strconv.Itoa(seen[service])
		}
		names[i] = service
	}
	return func(i int) string { return names[i] }
}
