// Package contract tests package langchainllm with the providers of langchaingo, each against a
// server that speaks its wire format. It has only tests. It is a separate package so that
// importers of langchainllm do not need the modules of all providers in their go.sum.
package contract
