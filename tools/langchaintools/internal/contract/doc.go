// Package contract holds langchaintools to langchaingo itself. It is a package of
// its own so that who imports langchaintools gets no line of langchaingo's
// dependencies into a go.sum.
package contract
