// Package analyst is the agent: its state, its graph, and the service that runs the graph for a message and streams
// the answer.
//
// Read graph.go first.
package analyst
