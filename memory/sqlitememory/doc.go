// Package sqlitememory stores a memory in one SQLite file, in pure Go. A [DB] is a [driver.Backend].
//
//	db, err := sqlitememory.Open(ctx, "memory.db", sqlitememory.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	m, err := memory.New(db, memory.Options{})
//
// Properties:
//
//   - Words are found with SQLite's full-text search (FTS5, ranked by BM25). Vectors are compared
//     exactly, so the time of a search grows with the size of its scopes, and not with the size of
//     the file. Use it for scopes of up to about 100,000 facts or chunks, and package pgmemory for
//     larger ones.
//   - A write is one transaction, except that Delete removes the chunks of documents in several
//     transactions.
//     With [Full], the default, stored data survives a power failure.
//   - Any number of goroutines and processes of one machine may use a file at the same time. Only
//     one of them writes at a time; readers do not wait. Do not use a file on a network share,
//     because SQLite's locks do not work there.
//   - Deleted data is overwritten. After a scope was forgotten, none of its data is left in the file or
//     in its write-ahead log; see [ErrInUse]. The words of each store are indexed with a secret, which
//     is deleted with them.
//   - Do not delete or replace the file while it is open. Data that is stored afterwards is lost.
//   - The names of its tables begin with "mem_". Other tables, such as the tables of package
//     sqlitecheckpoint, may be in the same file.
//
// While the database is open, the files with the suffixes "-wal" and "-shm" belong to it. Copy or
// move all of them, or none.
package sqlitememory
