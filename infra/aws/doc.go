// Package aws is what the adapters of DynamoDB, SQS and S3 in its folders share: a configuration that retries, the pause
// between attempts, and a meter of what they use.
//
// It knows no run and no message: what is stored and sent is for the adapters.
package aws
