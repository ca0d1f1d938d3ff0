// Package graph runs stateful graphs: nodes that read and write the channels of
// package state, in supersteps that are stored, so that a run can stop anywhere and
// resume in another process.
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
// A superstep runs every node that is due, at the same time. All of them see the
// state as it was before. Their writes are applied together: those of plain tasks by
// node name, then those of sent tasks in the order of the sends, and never in the
// order of completion. The result is committed as one checkpoint. Then edges,
// branches, joins, [Goto] and [Send] decide what is due next.
//
// When a task fails, its siblings finish and their results are stored. The next
// [Thread.Invoke] runs only what failed. A task that asks a question with
// [Interrupt.Wait] pauses the run in the same way: a pause is a result and not an
// error. Nodes therefore run at least once and their writes count once. Side effects
// go into [Once], or carry an [IdempotencyKey].
//
// # Rules
//
//   - A [Graph] is immutable and runs any number of threads at once. One run at a
//     time holds a thread; [RunOptions] say what a second run does.
//   - Behaviour of one node is a decorator of package node; behaviour of all nodes
//     is [Middleware].
//   - A node must heed its context. Nothing of a run outlives the call that started
//     it, so a node that does not return holds the caller.
//   - An error is a [RunError] that wraps a [NodeError] for each failed task. A panic
//     in a node is a NodeError with a [PanicError]. If a store fails, the run fails.
//   - [Thread.Stream] yields every [Event] of a run, subgraphs included.
//
// # The code
//
// This package is what users call; internal/engine runs the graphs, and its package
// comment has the map of its files. The files here, lowest first:
//
//   - errors.go: what can go wrong.
//   - signal.go, once.go, context.go: what a node can return and call.
//   - snapshot.go, event.go, broadcast.go: what readers of a thread and of a run see.
//   - interrupt.go: questions and their answers.
//   - options.go: what is configured.
//   - graph.go, thread.go, history.go, subgraph.go: runs, threads, and reading them.
//   - data.go, describe.go: states and graphs as data, and as JSON.
//   - builder.go, compile.go: a graph is collected, checked and made a plan.
//
// The semantics are those of LangGraph where they are right; docs/execution.md draws
// a superstep, and docs/design.md says where this package differs and why.
package graph
