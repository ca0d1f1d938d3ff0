// Package contract tests langchaintools with the real langchaingo. It is a separate
// package, because tests of package langchaintools would add langchaingo's dependencies to
// the go.sum of every importer.
package contract
