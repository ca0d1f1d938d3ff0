// Package durable tests tools with a store on disk: in processes that are killed, and with
// a person who answers in another process. It is a separate package, because tests of
// package tools would add the store's dependencies to the go.sum of every importer.
package durable
