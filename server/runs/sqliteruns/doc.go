// Package sqliteruns keeps the records and event logs of a server in a SQLite file, in pure Go.
//
//	store, err := sqliteruns.Open(ctx, "weft.db", sqliteruns.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	s, err := server.New(server.Options{Graphs: graphs, Runs: store})
//
// What to know:
//
//   - The checkpoints may be in the same file, since the names of the tables begin with "run_". Then a
//     backup of one file has all data of a service.
//   - A call that returned has stored its changes: they survive a power cut.
//   - Events that are added during a commit are stored together by the next commit.
//   - Only one server may use a file at a time.
//   - Only the owner can read the files that a store creates.
//   - A search by metadata reads the metadata of each record that its other fields select.
//
// The files whose names end in "-wal" and "-shm" are part of the database while it is in use.
package sqliteruns
