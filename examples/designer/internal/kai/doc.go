// Package kai is the agent of the design platform: a graph of a model and tools, written out
// rather than taken from package agent, and what happens around a turn of it.
//
//	start ─▶ agent ─▶ tools (a task for each call) ─────────▶ agent … ─▶ end
//	             └──▶ human_approval (the same, with a question) ─▶ agent
//
// Read state.go, graph.go and execute.go in this order.
package kai
