// Package kai is the agent of the design platform. It builds the graph of the agent from nodes,
// without agent.New. A [Platform] runs the turns of the agent.
//
//	start ─▶ agent ─▶ tools (a task for each call) ─────────▶ agent … ─▶ end
//	             └──▶ human_approval (the same, with approval) ──▶ agent
//
// Read state.go, graph.go and execute.go in this order.
package kai
