// Package memcheckpoint keeps checkpoints in memory, for tests and for programs
// whose threads need not outlive the process.
//
//	store := memcheckpoint.New(memcheckpoint.Options{})
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
// The store implements every optional interface: [checkpoint.Leaser],
// [checkpoint.ThreadLister], [checkpoint.StatusLister], [checkpoint.ThreadCopier],
// [checkpoint.Pruner] and [checkpoint.RunDeleter].
//
//   - A store is safe for concurrent use. Calls for different threads do not wait
//     for each other, except while a thread is added or removed.
//   - If ids ascend, as the ids of runs do, the time of Put and PutWrites hardly depends
//     on the length of the thread. Get takes time in proportion to the lineage that it
//     returns.
//   - A thread stays in memory until it is deleted. Use [Store.Prune] or
//     [Store.DeleteThread] in a process that runs for a long time.
package memcheckpoint
