// Package memory keeps what an agent learns, and finds it again when it matters.
//
//	m, err := memory.New(memory.NewInMemory(memory.InMemoryOptions{}), memory.Options{})
//	if err != nil {
//		return err
//	}
//	ann := memory.Scope{User: "ann"}
//	_, err = m.Store(ctx, ann, memory.Fact{Kind: memory.Preference, Content: "Ann likes tea, not coffee"})
//	if err != nil {
//		return err
//	}
//	found, err := m.Recall(ctx, memory.Recall{Query: memory.Query{Scope: ann}, Text: "which drinks does she like?"})
//
// What to know about it:
//
//   - A [Fact] belongs to a [Scope], and is found from that scope alone unless a
//     [FactQuery] says otherwise. A foreign id is not found.
//   - What is stored twice in a scope is stored once, however many write at once, and holds
//     for as long as either was to.
//   - Nothing is lost silently: what takes the place of a fact closes its validity, and
//     the fact is still there for [FactQuery.AsOf]. [Memory.Update] keeps what it is not told to
//     change, and never trusts more by itself. [Memory.Forget] is what removes.
//   - Without an [Embedder] recall goes by words, ranked, and never asks for all of
//     them. With one, what is found by words and by meaning is united, and each
//     [Found] says how its score came about.
//   - Facts with the trust [Untrusted] are kept, and not recalled unless asked for.
//
// A [Memory] is safe for use by any number of goroutines. Where facts are kept is a
// [driver.FactStore]: [inmemory.NewFacts] here, a file with package sqlitememory, PostgreSQL and Supabase
// with package pgmemory. Package memorytest proves a store of your own.
package memory
