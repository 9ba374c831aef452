// Package localstack holds the tests of the deployed system. They deploy another module with this
// project's template to LocalStack, and drive it through its public face alone: the API, and the
// events of SQS and EventBridge.
//
//	make test-localstack
package localstack
