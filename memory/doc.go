// Package memory stores and finds the knowledge of an agent: facts about users, values, conversations, documents,
// and turns to learn from.
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
// The backend is one of package inmemory, sqlitememory (a file) or pgmemory (PostgreSQL and Supabase), or another
// one that implements package driver. The methods of [Memory] store and find facts; [Memory.Values],
// [Memory.Profile] and [Memory.Conversations] return the other parts. Package knowledge stores and searches
// documents, package extract learns facts from turns, and package agentmemory adds a memory to an agent.
// [Memory.Forget], [Memory.Sweep], [Memory.Export] and [Memory.Import] cover all parts.
//
// Facts:
//
//   - A [Fact] belongs to a [Scope]. Only queries of this scope find it, unless the [Reach] of a query has more
//     scopes. A query of another scope does not find it, even by its ID.
//   - A fact with the same text as a fact of its scope is not stored again, even if several programs write at the
//     same time. Instead, the validity of the stored fact is extended to cover both.
//   - A fact that supersedes another fact ends its validity. [driver.FactQuery.AsOf] still finds the old fact.
//     [Memory.Forget] removes facts with their history.
//   - Without an [Embedder], recall compares words. With an embedder, it combines words and vectors, and the
//     [Score] of each [Hit] has both.
//   - Facts with the trust [Untrusted] are recalled only if a query includes them.
//
// Values:
//
//   - A value has a scope, a namespace and a key. A namespace is a list of labels. A label is any text: "a.b" is
//     one label and not two.
//   - Each write gives a value a new version. A write with [PutOptions.Version] succeeds only if the value still
//     has this version; [UpdateValue] tries again until it succeeds.
//   - A value with a time to live (TTL) expires when this time has passed. Reads do not restart the TTL, unless
//     [PutOptions.Sliding] is set.
//   - The fields of [ValueOptions.Index] can be searched by words and, with an embedder, by vectors.
//
// Conversations:
//
//   - A session belongs to a scope. Two scopes can have sessions with the same ID.
//   - The store orders the messages. A turn is appended as a whole. A message whose ID the session has is not
//     stored again, so it is safe to save a turn twice.
//   - A message is stored in the form of LangChain, see [llm.ToLangChain]. Messages of a Python program are
//     returned unchanged, with fields that this package does not know.
//
// All types are safe for concurrent use.
package memory
