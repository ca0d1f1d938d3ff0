// Package conversation keeps what was said in a session: one row a message, so that a turn
// writes what is new and not all there was.
//
//	history, err := conversation.New(conversation.NewInMemory(conversation.InMemoryOptions{}))
//	if err != nil {
//		return err
//	}
//	ann := memory.Scope{User: "ann"}
//	id, before, err := history.Resume(ctx, ann, id) // an empty id is a new session's
//	if err != nil {
//		return err
//	}
//	reply, err := answer(ctx, before, question)
//	if err != nil {
//		return err
//	}
//	_, err = history.Append(ctx, ann, conversation.Turn{
//		Session:  id,
//		Messages: []llm.Message{question, reply},
//	})
//
// What to know about it:
//
//   - A session belongs to a [memory.Scope], and is found from that scope alone. A
//     session of one id in two scopes is two sessions.
//   - The store gives messages their order. A turn is appended whole, with nothing of another writer
//     in between, and a message whose id the session has is not stored again: a turn
//     may be saved twice, and may have what was read before.
//   - A message is stored in the form that LangChain stores it in, see
//     [llm.ToLangChain]. What Python wrote, with all that is not known here, comes back
//     as it was.
//   - What a turn keeps is for its [Mode] to say: everything, or the answers only.
//   - Deleting removes for good. [History.Forget] removes all that a user said, and a turn
//     that began before does not come back.
//
// A [History] is safe for use by any number of goroutines. Where sessions are kept is a
// [Store]: [NewInMemory] here, others in package sqlitememory and package pgmemory.
// Package memorytest proves a store of your own.
package conversation
