// Package agent is the prebuilt tool-calling agent. It asks a model, runs the tools
// that the model calls, and repeats until the model answers.
//
//	a, err := agent.New("helper", model, set, agent.Options{
//		System: "You help with travel plans.",
//		Graph:  graph.Options{Checkpoints: store},
//	})
//	snap, err := a.Thread("user-42").Invoke(ctx, agent.Messages.Put(llm.User("hello")))
//	answer, _ := agent.Messages.Last(snap)
//	why := agent.Result.Get(snap).Reason
//
// Rules:
//
//   - An agent is an ordinary [graph.Graph] over [Messages]: it streams, pauses,
//     forks and resumes like any other graph, and can be a subgraph. [Supervisor]
//     combines several agents.
//   - [Chunks] converts the events of a run to texts, calls, results, questions and
//     costs, each with its agent, node and task.
//   - Each tool call is a separate task. If one call waits for a person or fails,
//     the other calls do not run again. Results are stored in the order of the
//     calls, and a call with a stored result never runs again.
//   - A run asks the model at most [Options.MaxTurns] times, and at most twice more for a structured
//     answer each time the conversation ends without one. In the last turn the model may not call
//     tools, so it has to answer. [Result] gives the reason why a run ended. Reaching MaxTurns is
//     not an error, and neither is a refusal by the provider.
//   - The stored conversation is complete. Each request is derived from it: middleware
//     can shorten it, and a call without a result, for example after a cancelled run, gets a
//     placeholder result.
//   - An invalid message is rejected before it is stored.
//
// See docs/agents.md for a guide with examples.
package agent
