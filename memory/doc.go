// Package memory stores what an agent learns, and finds it again when it matters: facts about
// users, values, conversations, documents and turns to learn from.
//
//	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Embedder: embedder})
//	if err != nil {
//		return err
//	}
//	ann := memory.Scope{User: "ann"}
//	if _, err := m.Remember(ctx, ann, "Ann likes tea, not coffee"); err != nil {
//		return err
//	}
//	hits, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "which drinks does she like?"})
//
// The backend is one of package inmemory, sqlitememory (a file) or pgmemory (PostgreSQL and Supabase), or
// another one that implements package driver. The methods of [Memory] are those of facts;
// [Memory.Values], [Memory.Profile] and [Memory.Conversations] return the other parts. Package
// knowledge has the documents, package extract learns facts from turns, and package agentmemory adds a
// memory to an agent. [Memory.Forget], [Memory.Sweep], [Memory.Export] and [Memory.Import] cover all
// parts.
//
// Facts:
//
//   - A [Fact] belongs to a [Scope]. It is found from that scope alone, unless the [Reach] of a query has
//     more scopes. A fact of another scope is not found by its ID either.
//   - A fact that says the same as a fact of its scope is not stored again, however many programs write
//     at once. The known fact then holds for as long as either of them.
//   - A fact that replaces another one closes its validity: [FactQuery.AsOf] still finds it.
//     [Memory.Forget] removes facts with their history.
//   - Without an [Embedder] recall goes by words. With one, words and meaning are combined, and the [Score] of each
//     [Hit] says how.
//   - Facts with the trust [Untrusted] are recalled only if a query asks for them.
//
// Values:
//
//   - A value has a scope, a namespace and a key. A namespace is a list of labels of any text: "a.b" is one
//     label and not two.
//   - Each write gives a value a new version. A write with [PutOptions.Version] succeeds only if the
//     value still has that version; [UpdateValue] repeats it until it does.
//   - A value with a time to live is gone when that has passed. Reading it does not renew that time,
//     unless it is [PutOptions.Sliding].
//   - The fields of [ValueOptions.Index] can be searched by words and, with an embedder, by meaning.
//
// Conversations:
//
//   - A session belongs to a scope. Two scopes can have sessions with the same ID.
//   - The store gives messages their order. A turn is appended as a whole, and a message whose ID the
//     session has is not stored again: a turn may be saved twice.
//   - A message is stored in the form of LangChain, see [llm.ToLangChain]. What a program in Python
//     wrote comes back unchanged, with the fields that are unknown here.
//
// All types are safe for concurrent use.
package memory
