// Benchmarks measures Weft against a floor and a peer, and checks the project's
// performance targets.
//
//	go run . [-stores] [-run W1] [-rounds 9] [-short] [-markdown]
//
// Several contestants run a workload: floor, the least code that does the work
// without a library; eino, a peer; and weft. Every contestant runs once in
// every round, directly after the one before it, so that a slow moment of the
// machine affects all of them. A target bounds a ratio of two samples of one round,
// and the median of the rounds is compared with the bound. The final state of every
// sample is verified.
//
// Without -stores, the workloads need no server. With -stores, the workloads of
// PostgreSQL and the fan-out on SQLite run: DATABASE_URL names the server, and
// make bench-stores starts one whose fsync is on.
//
// The exit status is 1 when a target is missed and 2 when a run fails. The program
// needs a Unix system, since it reads processor time with getrusage.
package main
