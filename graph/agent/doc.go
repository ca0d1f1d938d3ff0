// Package agent is the prebuilt tool-calling agent: a model that is asked, the
// tools that it calls, and round again until it answers.
//
//	a, err := agent.New("helper", model, set, agent.Options{
//		System: "You help with travel plans.",
//		Graph:  graph.Options{Checkpoints: store},
//	})
//	snap, err := a.Thread("user-42").Invoke(ctx, agent.Messages.Put(llm.User("hello")))
//	answer, _ := agent.Messages.Last(snap)
//	why := agent.Result.Get(snap).Reason
//
// What to know:
//
//   - The result is an ordinary [graph.Graph] over [Messages]: it streams,
//     pauses, forks and resumes as any other, and can be a subgraph.
//     [Supervisor] makes a team of several.
//   - What happens is emitted as it does: [Chunks] shows the events of a run as
//     texts, calls, results, questions and costs, each with the agent, node and
//     task that it is from.
//   - Each tool call is a task of its own, so one that waits for a person or
//     fails does not make the others run again. Answers stand in the order of
//     the calls, and a call whose answer is stored is never made twice.
//   - A run asks the model at most [Options.MaxTurns] times. In the last turn
//     the model may not call tools, and so has to answer. [Result] says why a
//     run ended; running out of turns, or a provider that refuses, is no error.
//   - The conversation is stored as it was held. What a model is sent is made of
//     it for each request: shortened as [History] says, and repaired where a
//     call has no answer as a run was cancelled.
//   - A message that is not valid is refused before it is stored.
//
// docs/agents.md goes through it with examples.
package agent
