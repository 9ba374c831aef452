// Package template holds the tests of template.yaml: what deployments must never lose, whoever edits it.
package template
