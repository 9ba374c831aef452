// Package wire holds what goes through the API: the bodies of requests, and of answers. The handler
// (infra/api) and the client (infra/api/client) share these types. Their tags make the OpenAPI
// document.
//
// They are apart from the types that are stored: what callers see changes by additions alone,
// whatever the engine and the stores need.
package wire
