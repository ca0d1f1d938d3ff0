// Package kv keeps values of JSON under names: what a program wants to have again for a
// user, an agent or all, and does not need to search for by meaning, although it can.
//
//	values, err := kv.New(kv.NewInMemory(kv.InMemoryOptions{}), kv.Options{})
//	if err != nil {
//		return err
//	}
//	settings := values.In(memory.Scope{User: "ann"}, "app", "settings")
//	_, err = kv.Put(ctx, settings, "theme", Theme{Dark: true}, kv.PutOptions{})
//	if err != nil {
//		return err
//	}
//	theme, version, err := kv.Get[Theme](ctx, settings, "theme")
//
// What to know about it:
//
//   - A value has a scope, a namespace and a key. A namespace is a list of labels, of any
//     text: "a.b" is one label and not two. A scope sees its own values alone.
//   - Each write gives a value a version that it never had, and [PutOptions.Version] writes
//     only over the version that was seen. [Update] does so until it succeeds.
//   - Conditions compare numbers as numbers: 9 is less than 10.
//   - A value with a time to live is gone when that has passed, though it is [Values.Sweep] that
//     frees its space. Reading it does not make it live on, unless it is [PutOptions.Sliding].
//   - Fields named by [Options.Index] can be searched by words, and with an embedder by
//     meaning.
//
// [Values] and [Namespace] are safe for use by any number of goroutines. Where values are kept is a
// [Store]: [NewInMemory] here, others in package sqlitememory and package pgmemory.
// Package memorytest proves a store of your own.
package kv
