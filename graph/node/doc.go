// Package node has decorators for single nodes of a graph: retries, timeouts,
// caching, limits and error handlers. A decorator wraps the function of a node:
//
//	b.Node("model", node.Retry(node.RetryPolicy{}, node.Timeout(30*time.Second, think)))
//
// The outer decorator gets the result of the inner one. In the example, every attempt
// has its own timeout. A decorator around nil returns nil, and graph.Builder.Compile
// then reports an error with the name of the node. For behaviour of all nodes, see
// graph.Middleware.
//
// A pause is not a failure: no decorator handles the error of a node that waits for an
// answer.
//
// [Tee] is for nodes that stream.
package node
