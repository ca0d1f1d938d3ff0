// Package sqlitecheckpoint stores checkpoints in a SQLite file, in pure Go.
//
//	store, err := sqlitecheckpoint.Open(ctx, "weft.db", sqlitecheckpoint.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
// [Store] implements [checkpoint.Store] and every optional interface: it leases,
// lists, copies and prunes threads and deletes runs.
//
//   - A superstep is one INSERT and one commit, for any number of changes and any
//     length of the thread. With [Full], the default, a commit that returned
//     survives a power cut. With [Normal], a power cut may lose the newest commits
//     but does not damage the file.
//   - Any number of goroutines, stores and processes of one machine may use a
//     file at once. Writers take turns, and readers do not wait. Do not put the
//     file on a network share: SQLite's locks do not work there.
//   - A lease is a lock of the operating system on one byte of a second file,
//     whose name ends in "-lock". It costs one system call and ends with its
//     process. The lock file has no content. It may be deleted when no process
//     uses the database.
//   - Only the owner can read the files that a store creates.
//   - Removed checkpoints and settled pending writes are overwritten with zeros.
//     Copies in the write-ahead log stay until the log is emptied, at the latest
//     when the last store of the file is closed.
//   - Checksums cover all fields of a checkpoint. A damaged row is reported as
//     [checkpoint.ErrCorrupt]. Rows of the first version of the format have
//     checksums of their values only. If the whole newest row of a thread is
//     missing, the thread ends one checkpoint earlier, without an error.
//   - A call whose context ends while it waits for another process's lock returns
//     within about 25 ms.
//   - The names of its tables begin with "cp_". The file may have other tables.
//
// The files whose names end in "-wal" and "-shm" are part of the database while
// it is in use. Copy or move all of them together, and only while no process uses
// the database: see [ErrReplaced].
package sqlitecheckpoint
