// Package pgruns keeps the records and event logs of a server in PostgreSQL.
//
//	store, err := pgruns.Open(ctx, os.Getenv("DATABASE_URL"), pgruns.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	s, err := server.New(server.Options{Graphs: graphs, Runs: store})
//
// [New] returns a store on a pool of the caller, in a database that [Migrate] has prepared. Package
// pgcheckpoint may use the same pool.
//
//   - A batch of events is one call of a function in the database: one round trip and one commit.
//     So is the end of a run.
//   - Only one server may use a schema at a time, unless the servers share a queue; see package riverqueue.
//   - A store works through transaction poolers, with the same number of round trips.
//   - A call whose connection was lost is sent again, if it cannot take effect twice. Update and
//     Delete are sent again only if they had no effect. After [ErrUnreachable], an Update, Delete or
//     Insert may have taken effect.
//   - Searches by metadata use an index, except searches for runs.
//   - The names of the tables begin with "run_". The checkpoints may be in the same schema.
package pgruns
