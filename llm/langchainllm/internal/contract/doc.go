// Package contract holds package langchainllm to its promises on the providers of
// langchaingo, each with a server that speaks its wire format. It has tests only.
// They are not beside what they test, as the go.sum of every user of
// langchainllm would then have the lines of all these providers.
package contract
