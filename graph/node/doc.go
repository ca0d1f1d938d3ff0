// Package node has decorators for single nodes of a graph: retries, timeouts,
// caching, limits and error handlers. Each takes a node's function and returns
// one:
//
//	b.Node("model", node.Retry(node.RetryPolicy{}, node.Timeout(30*time.Second, think)))
//
// The outer decorator sees what the inner one returns: in the example every attempt
// has a timeout of its own. A decorator around nil returns nil, which
// graph.Builder.Compile reports with the name of the node. For behaviour of all
// nodes, see graph.Middleware.
//
// A pause is never a failure: decorators pass on a node that waits for an answer.
package node
