// Package statecore implements states for package state and the engine. A [Schema] is
// the set of channels of a graph. A [Tx] applies the writes of a superstep to a
// [View]. A [Replayer] restores a view from stored changes. Package state defines the
// kinds of channels.
package statecore
