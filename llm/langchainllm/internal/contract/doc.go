// Package contract tests package langchainllm with the providers of langchaingo, each against a
// server that speaks its wire format. It has tests only. They are in a package of their own so
// that the go.sum of a user of langchainllm does not have the lines of all providers.
package contract
