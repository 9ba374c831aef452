package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	traceHeader = "X-Amzn-Trace-Id"
	lineage     = "lineage="
)

// withoutLineage keeps our requests out of Lambda's recursive loop detection.
//
// Lambda counts in the field Lineage of the trace header how often each function ran in one chain
// of messages. The SDK copies that header from the function's environment into every request. SQS
// stores it with each message, and hands it to the function that the message invokes. By default,
// Lambda stops the chain after about 16 invocations.
//
// functions/activate and functions/task invoke each other by design: once for each queued activity,
// retry or timer of a run. README.md says what bounds such a chain instead. The other fields of the
// header stay, so that X-Ray links the functions.
func withoutLineage(stack *middleware.Stack) error {
	return stack.Build.Add(middleware.BuildMiddlewareFunc("WithoutLineage", func(
		ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler,
	) (middleware.BuildOutput, middleware.Metadata, error) {
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok {
			return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("build a request without lineage: unknown request type %T", in.Request)
		}
		if rest := dropLineage(request.Header.Get(traceHeader)); rest != "" {
			request.Header.Set(traceHeader, rest)
		} else {
			request.Header.Del(traceHeader)
		}
		return next.HandleBuild(ctx, in)
	}), middleware.After) // after the SDK's own middleware, which copies the header
}

// dropLineage removes the field Lineage from a trace header such as
// "Root=1-5e1b;Sampled=1;Lineage=a87bd80c:5".
func dropLineage(header string) string {
	var kept []string
	for field := range strings.SplitSeq(header, ";") {
		if field != "" && !strings.Contains(strings.ToLower(field), lineage) {
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, ";")
}
