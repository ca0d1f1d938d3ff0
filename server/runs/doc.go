// Package runs defines where a server keeps its records and event logs: the interface [Store]
// and its types. Package server uses it; packages memruns, sqliteruns and pgruns implement it.
//
//	s, err := server.New(server.Options{Graphs: graphs, Runs: memruns.New()})
//
// The states of threads are not here: a graph stores them in its checkpoint store. A Store has
// assistants, threads, runs and crons as [Record] values, whose Data only the server
// understands, the [Event] log of each thread, and the results of its tasks.
//
// Package runstest has the tests that every Store must pass.
package runs
