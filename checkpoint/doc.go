// Package checkpoint stores the progress of threads.
//
// A [Store] keeps checkpoints: one for each superstep, input or update of a thread,
// with the changes of that step. Package graph writes checkpoints and rebuilds a state
// by replaying them. A store keeps bytes, keys and times only, and never interprets the
// bytes. Package memcheckpoint keeps checkpoints for the life of the process, package
// sqlitecheckpoint in a file, and package pgcheckpoint in PostgreSQL.
//
//	store := memcheckpoint.New(memcheckpoint.Options{})
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
// Every store makes these promises, which package checkpointtest checks:
//
//   - [Store.Put] is atomic. It returns [ErrConflict] unless the caller has seen the
//     newest checkpoint of the namespace, so two writers cannot interleave, and nothing
//     that was acknowledged is lost.
//   - The order of checkpoints is the order in which the store accepted them. It does
//     not depend on clocks.
//   - [Checkpoint.Lineage] holds the changes of the checkpoint and its ancestors only.
//     A fork never sees the changes of an abandoned branch.
//   - Put and PutWrites return [ErrTooLarge] for a value that is too large, and write
//     nothing. Reads return [ErrCorrupt] for damaged data, and [ErrFormat] for data of
//     an unknown format.
//   - A store is safe for concurrent use.
//
// [Encrypted] wraps a store. It encrypts the values, and detects changes to them.
//
// A store can also implement the optional interfaces [Leaser], [ThreadLister],
// [ThreadCopier], [Pruner] and [RunDeleter]. A method that returns [errors.ErrUnsupported]
// counts as not implemented.
//
// To implement a store, use [Checkpoint.Check], [CheckWrites] and [Query.Check] to
// refuse invalid arguments, [AppendChanges] and [ParseChanges] for a stored form that
// detects damage, and package checkpointtest to test the result.
package checkpoint
