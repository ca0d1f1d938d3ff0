// Package riverqueue lets any number of servers share the runs of one PostgreSQL. It is a [runs.Queue]
// on River, a queue in PostgreSQL.
//
//	store, err := pgruns.New(ctx, pool, pgruns.Options{})
//	if err != nil {
//		return err
//	}
//	s, err := server.New(server.Options{Graphs: graphs, Runs: store, Queue: riverqueue.New(pool, riverqueue.Options{})})
//
// Start the same program any number of times. Each process executes runs that any process accepted, and
// its clients can read runs that other processes execute.
//
//   - A thread with a run to execute is one job of River, so that one run at a time is executed on a
//     thread. Delayed runs and crons are scheduled jobs.
//   - A server renews the lease of its jobs. If a server dies, another one takes its jobs after
//     [Options.Lease]. Set the LeaseTime of the checkpoint store to the same time.
//   - Servers notify each other of changes by NOTIFY. For LISTEN, a server needs a direct connection
//     to the database; see [Options.Listen]. Behind a transaction pooler without such a connection,
//     servers check for changes several times a second.
//   - [Queue.Start] creates the tables of River, with River's own migrations. Their names begin with
//     "river_".
//   - The pool needs at least four connections.
package riverqueue
