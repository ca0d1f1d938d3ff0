// Package graph runs stateful graphs. The nodes of a graph read and write the
// channels of package state. The result of each superstep is stored, so a run can
// stop anywhere and resume in another process.
//
//	b := graph.New("chat", Messages)
//	b.Node("answer", answer)
//	b.Edge(graph.Start, "answer")
//	g, err := b.Compile(graph.Options{Checkpoints: store})
//
//	snap, err := g.Thread("user-42").Invoke(ctx, Messages.Put("hello"))
//	fmt.Println(Messages.Get(snap))
//
// # How a graph runs
//
// A superstep runs all due nodes concurrently, each as a task. Each task sees the
// state as it was when the superstep began. The writes of all tasks are applied
// together: first the writes of plain tasks, by node name, then the writes of sent
// tasks, in the order of the sends. The order of completion does not matter. The
// result is stored as one checkpoint. Then edges, branches, joins, [Goto] and [Send]
// determine the nodes that are due next.
//
// When a task fails, the other tasks of its superstep finish and their results are
// stored. The next [Thread.Invoke] runs only the failed task. A task that asks a
// question with [Interrupt.Wait] pauses the run in the same way: a pause is a result
// and not an error. A node therefore runs at least once, and its writes are applied
// once. Put a side effect into [Once], or give it an [IdempotencyKey].
//
// # Rules
//
//   - A [Graph] is immutable and runs any number of threads at once. One run at a
//     time holds a thread; [RunOptions] say what a second run does.
//   - A decorator of package node adds behaviour to one node; [Middleware] adds it to
//     all nodes.
//   - A node must return when its context ends. The call that started a run waits for
//     all its nodes, so a node that does not return blocks the caller.
//   - An error is a [RunError] that wraps a [NodeError] for each failed task. A panic
//     in a node is a NodeError with a [PanicError]. If a store fails, the run fails.
//   - [Thread.Stream] yields every [Event] of a run, subgraphs included.
//
// # The code
//
// This package is the public API. Package internal/engine runs the graphs, and its
// package comment lists its files. The files of this package, lowest layer first:
//
//   - errors.go: errors.
//   - signal.go, once.go, context.go: values and functions for nodes.
//   - snapshot.go, event.go: states and events for readers.
//   - interrupt.go: questions and answers.
//   - hooks.go, options.go: functions that a run calls; configuration.
//   - graph.go, thread.go, history.go, subgraph.go: runs, threads and their history.
//   - executor.go: tasks that other processes run.
//   - data.go, describe.go: states and graphs as data and as JSON.
//   - builder.go, compile.go: a builder collects a graph, and Compile checks it.
//
// The semantics follow LangGraph. The file docs/execution.md shows a superstep, and
// docs/design.md lists the differences from LangGraph and the reasons.
package graph
