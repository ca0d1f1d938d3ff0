// Package sqlitecheckpoint keeps checkpoints in one SQLite file, in pure Go.
//
//	store, err := sqlitecheckpoint.Open(ctx, "weft.db", sqlitecheckpoint.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
// [Store] is a [checkpoint.Store] with every optional power: it leases, lists,
// copies and prunes threads and deletes runs. What to know about it:
//
//   - A superstep is one INSERT and one commit, whatever it changed and however
//     long its thread is. With [Full], the default, a commit that returned
//     survives a power cut; with [Normal] the newest ones may not, and the file
//     is sound all the same.
//   - Any number of goroutines, stores and processes of one machine may use a
//     file at once. Writers take turns, readers do not wait. A file on a
//     network share is not safe: SQLite's locks do not work there.
//   - A lease is an operating system's lock on a byte of a second file, whose
//     name ends in "-lock". It costs one system call, and is given back when
//     its process ends, however it ends. That file holds nothing, and may be
//     removed when no process uses the database.
//   - Its tables begin with "cp_"; other tables may live in the same file.
//
// The files whose names end in "-wal" and "-shm" belong to the database while
// it is in use: copy or move all of them, or none.
package sqlitecheckpoint
