// Package agent is the prebuilt tool-calling agent: a model that is asked, the
// tools that it calls, and round again until it answers.
//
//	a, err := agent.New("helper", model, set, agent.Options{
//		System: "You help with travel plans.",
//		Graph:  graph.Options{Checkpoints: store},
//	})
//	snap, err := a.Thread("user-42").Invoke(ctx, agent.Messages.Put(llm.User("hello")))
//	answer, _ := agent.Messages.Last(snap)
//
// What to know:
//
//   - The result is an ordinary [graph.Graph] over [Messages]: it streams,
//     pauses, forks and resumes as any other, and can be a subgraph.
//   - The model's chunks are emitted as they come: in a stream they are
//     [graph.Emitted] events whose value is an [llm.Chunk].
//   - Each tool call is a task of its own, so one that waits for a person or
//     fails does not make the others run again. Answers stand in the order of
//     the calls.
//   - A user's message gets at most [Options.MaxTurns] calls of the model. In
//     the last one the model may not call tools, and so has to answer.
package agent
