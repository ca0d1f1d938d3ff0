// Package analyst is the agent: its state, its graph, and the service that runs the
// graph for a message and streams what it says.
//
// Read graph.go first.
package analyst
