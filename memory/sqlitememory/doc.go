// Package sqlitememory stores a memory in one SQLite file, in pure Go. A [DB] is a [driver.Backend].
//
//	db, err := sqlitememory.Open(ctx, "memory.db", sqlitememory.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	m, err := memory.New(db, memory.Options{})
//
// What to know about it:
//
//   - Words are found with SQLite's full text search (FTS5, ordered by BM25), and
//     vectors by comparing all of the scope: the nearest are found for certain, and
//     time grows with the scope, not with the file. It suits scopes of up to some
//     100,000 facts or chunks; above that, take package pgmemory.
//   - What a call changes is changed in one transaction. With [Full], the default,
//     what a call has stored survives a power cut.
//   - Any number of goroutines and processes of one machine may use a file at once.
//     Writers take turns, readers do not wait. A file on a network share is not
//     safe: SQLite's locks do not work there.
//   - What is deleted is overwritten. After [Facts.Forget], [Conversations.Forget], [Values.Forget],
//     or [Knowledge.Delete] of a whole scope, no byte of it is in the file, nor in the log beside it.
//     Each forgets its own; the words of each are indexed with a secret that is forgotten with them.
//   - Who deletes or replaces the file while it is open, loses what is stored from then on: the
//     system goes on writing to the file that has no name any more.
//   - Its tables begin with "mem_"; other tables, such as those of package
//     sqlitecheckpoint, may live in the same file.
//
// The files whose names end in "-wal" and "-shm" belong to the database while
// it is in use: copy or move all of them, or none.
package sqlitememory
