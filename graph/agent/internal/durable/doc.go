// Package durable leads an agent through several processes, some of which are
// killed, over a store on disk. It is a package of its own so that who imports
// the agent gets no line of the store's dependencies into a go.sum.
package durable
