// Package statecore is the part of a state that the engine uses. A [Schema] is a
// graph's set of channels, a [Tx] applies the writes of a superstep to a [View],
// and a [Replayer] restores a view from stored changes. Package state, which
// defines the kinds of channels, and the engine use it.
package statecore
