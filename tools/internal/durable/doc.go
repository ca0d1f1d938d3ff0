// Package durable runs tools over a store on disk: in processes that are killed,
// and where a person answers in another one. It is a package of its own so that
// who imports tools gets no line of the store's dependencies into a go.sum.
package durable
