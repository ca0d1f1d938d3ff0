// Package durable tests an agent across several processes with a store on disk. Some
// of the processes are killed. It is a separate package so that importers of package
// agent do not depend on the store's modules.
package durable
