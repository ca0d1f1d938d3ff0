// Package agentmemory adds memory to an agent: it puts known facts into the prompt, learns facts
// from each turn after its answer, and gives the model tools to store and look up facts.
//
//	kit, err := agentmemory.New(agentmemory.Options{Facts: m, Learner: learner, Logger: slog.Default()})
//	if err != nil {
//		return err
//	}
//	bot, err := agent.New("helper", model, set, agent.Options{
//		System: "You help.",
//		Use:    []agent.Middleware{kit.Middleware()},
//	})
//	...
//	ctx = agentmemory.For(ctx, memory.Scope{User: "ann"})
//	snap, err := bot.Thread("7").Invoke(ctx, agent.Messages.Put(llm.User("hello")))
//
// Rules:
//
//   - The scope comes from the run, by [For] or [Options.Scope], and never from the model: no
//     tool has an argument for it. A run without a scope has no memory; the logger gets a warning.
//   - Each field of [Options] adds one part. If no field is set, the agent is unchanged.
//   - A failure of memory does not fail a turn. The agent continues without facts, the
//     failure is logged, and a tool returns the error to the model. Turns that the learner's
//     queue does not accept wait in the thread.
//   - Facts reach the model as quoted data. Facts of [extract.Lowest] trust do not reach it,
//     unless [Options.Unverified] is set.
//   - The tool store_memory requires a verbatim quote of the user's words in this turn. The
//     words of tools, documents and other agents are not evidence. Set [Options.Verifier] to
//     check that the quote supports the fact.
//   - A fact of store_memory can replace a known one. With [Options.Forget], the tool forget_memory
//     removes a fact that the user asks to forget.
//   - All user messages count as the user's own words, except relayed messages. Do not use a
//     kit for an agent whose tasks another model writes as user messages.
package agentmemory
