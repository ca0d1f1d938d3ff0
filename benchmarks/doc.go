// Benchmarks measures Weft against a floor and a peer, and checks the targets
// that the project has set itself.
//
//	go run . [-run W1] [-rounds 15] [-short]
//
// A workload is run by several contestants: floor, the least code that does the
// work without a library; eino, a peer; and weft. Each runs in every round, one after
// the other, so that a machine that slows down for a moment slows all of them;
// workloads take turns of a few rounds, so that one that does for seconds spoils few
// of all. The median of the rounds counts. A target is a ratio inside one such run:
// absolute figures move with the machine. Every run's final state is verified.
//
// The exit status is 1 when a target is missed and 2 when a run fails.
package main
