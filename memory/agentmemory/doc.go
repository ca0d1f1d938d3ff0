// Package agentmemory gives an agent its memory: what is known is put into the prompt,
// what a turn says is learned after it, and tools let the model store and look up.
//
//	kit, err := agentmemory.New(agentmemory.Options{Facts: m, Learner: learner})
//	if err != nil {
//		return err
//	}
//	set, err := tools.NewSet(append(kit.Tools(), mine...)...)
//	if err != nil {
//		return err
//	}
//	bot, err := agent.New("helper", model, set, kit.Extend(agent.Options{System: "You help."}))
//	...
//	ctx = agentmemory.For(ctx, memory.Scope{User: "ann"})
//	snap, err := bot.Thread("7").Invoke(ctx, agent.Messages.Put(llm.User("hello")))
//
// What to know about it:
//
//   - Whose memory it is comes from the run, by [For] or [Options.Scope], and never from the
//     model: no tool has an argument for it.
//   - Each part is there if its option is set. Without any, the agent runs as it would
//     without this package.
//   - A memory that fails fails no turn: the agent goes on without what it knows, which is
//     logged, and a tool tells the model what went wrong. What was said while the learner's queue
//     was away waits in the thread.
//   - What is remembered reaches the model as data, quoted and marked as such. What a
//     document or a tool said never becomes a fact about a user: to store one, the model has
//     to show the user's own words of this turn for all that it says, see [extract.Claim]; if a tool
//     answered before, it is kept apart or a person is asked, see [Options.Confirm].
//   - The messages of the user are taken to be the user's: a kit is not for an agent whose
//     tasks another model writes.
package agentmemory
