// Package pgcheckpoint stores checkpoints in PostgreSQL.
//
//	store, err := pgcheckpoint.Open(ctx, os.Getenv("DATABASE_URL"), pgcheckpoint.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
// [Store] is a [checkpoint.Store] with every optional interface: it leases, lists,
// copies and prunes threads and deletes runs. [New] returns a store on a pool, a
// connection or a transaction of the caller, in a database that [Migrate] has prepared.
//
//   - A superstep is one call of a function in the database: one round trip and one
//     commit, for any number of changes and any length of the thread. The settings of
//     the server decide how durable a commit is.
//   - A run leases its thread. The row of the thread holds the owner, the epoch and the
//     expiry of the lease, by the clock of the database. Every commit checks the epoch
//     and renews the lease, so a process that was paused for longer than its lease
//     cannot store anything. A thread is free at once when its run ends, and after
//     [Options.LeaseTime] when its process dies.
//   - A call whose connection is lost is sent again. The store finds out whether the
//     first try took effect, so nothing is stored twice.
//   - A store works through transaction poolers, with the same number of round trips.
//   - Names and metadata are text. A NUL or invalid UTF-8 is a [checkpoint.ErrInvalid],
//     and so is a name of a thread, namespace or task of more than 2,000 bytes. Values
//     are arbitrary bytes. Long values are compressed.
//   - Checksums protect the values and columns of a checkpoint. A row that was changed
//     outside of this package is a [checkpoint.ErrCorrupt]. Checksums do not protect
//     tags, the times of checkpoints and the counters of a thread. Damage to a
//     reference can have the effect of a deleted row: a pending write is not found with
//     its checkpoint, or the newest checkpoint of a subgraph is not found in its
//     namespace. If the newest checkpoint of the thread's own graph is not found, Get
//     returns [checkpoint.ErrCorrupt]. Data checksums of the server detect all such damage.
package pgcheckpoint
