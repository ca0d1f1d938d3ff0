// Package pgcheckpoint keeps checkpoints in PostgreSQL.
//
//	store, err := pgcheckpoint.Open(ctx, os.Getenv("DATABASE_URL"), pgcheckpoint.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
// [Store] is a [checkpoint.Store] with every optional power: it leases, lists,
// copies and prunes threads and deletes runs. [New] makes one on a pool, a
// connection or a transaction of the caller's, in a database that [Migrate] has
// prepared. What to know about it:
//
//   - A superstep is one call of a function in the database: one round trip and
//     one commit, whatever it changed and however long its thread is. A commit
//     that returned is as durable as the server makes its commits.
//   - A run leases its thread. The lease is in the row of the thread: owner, epoch
//     and expiry, by the database's clock. Every commit carries the epoch and renews
//     the lease, so a worker that was paused for too long stores nothing more. A
//     thread is free again at once when its run ends, and [Options.LeaseTime] after
//     its process was killed.
//   - A call whose connection is lost is sent again, and finds out whether it had
//     taken effect: an error that arrives is one that trying again did not help.
//   - It works through transaction poolers, and there, too, in one round trip.
//   - Names and metadata are text: a NUL or what is no UTF-8 is a
//     [checkpoint.ErrInvalid], and so is the name of a thread, namespace or task of
//     more than 2,000 bytes. Values are any bytes; long ones are compressed.
package pgcheckpoint
