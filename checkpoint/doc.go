// Package checkpoint is where the progress of a thread is kept.
//
// A [Store] keeps checkpoints: one for each superstep, input or update of a
// thread, holding what that step changed. Package graph writes them and rebuilds
// a state by replaying them; a store itself only keeps bytes, keys and times, and
// never looks inside. Package memcheckpoint keeps them in memory, and package
// sqlitecheckpoint in one file.
//
//	store := memcheckpoint.New(memcheckpoint.Options{})
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
// What every store promises, and package checkpointtest checks:
//
//   - [Store.Put] is atomic and is refused with [ErrConflict] unless the caller
//     has seen the newest checkpoint of the namespace. Two writers can not
//     interleave, and nothing acknowledged is lost.
//   - Order is the order in which the store accepted the checkpoints, never
//     that of a client's clock.
//   - A checkpoint's [Checkpoint.Lineage] holds its own ancestors' changes only:
//     a fork never sees what an abandoned branch wrote.
//   - A value that is too large is refused with [ErrTooLarge] before anything is
//     written; damaged or unknown data is refused with [ErrCorrupt] or
//     [ErrFormat], and never read as something else.
//   - A store is safe for use by any number of goroutines.
//
// [Encrypted] wraps a store so that what it keeps is unreadable without a key.
// What only some stores can do is an interface beside Store: [Leaser],
// [ThreadLister], [ThreadCopier], [Pruner] and [RunDeleter]; a method of these
// that returns [errors.ErrUnsupported] counts as missing.
//
// Who writes a store finds in [Checkpoint.Check], [CheckWrites] and [Query.Check]
// what it must refuse, in [AppendChanges] and [ParseChanges] a stored form that
// notices damage, and in package checkpointtest the proof.
package checkpoint
