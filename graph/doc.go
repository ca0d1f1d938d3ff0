// Package graph runs stateful graphs: nodes that read and write the channels of
// package state, in supersteps that are stored, so that a run can stop anywhere
// and go on in another process.
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
// A superstep runs every node that is due, at the same time. All of them see
// the state as it was before. Their writes are applied together: those of plain
// tasks by node name, then those of sent tasks by the order of the sends, and
// never by who was first. The result is committed as one checkpoint. Then
// edges, branches, joins, [Goto] and [Send] say what is due next.
//
// When a task fails, its siblings finish and what they returned is kept. The
// next [Thread.Invoke] runs only what failed. A task that asks a question with
// [Interrupt.Wait] pauses the run in the same way: a pause is a result and not
// an error. Nodes therefore run at least once and their writes count once; side
// effects go into [Once], or carry an [IdempotencyKey].
//
// # What to know
//
//   - A [Graph] is immutable and runs any number of threads at once. A thread
//     runs once at a time; a second run gets [checkpoint.ErrConflict].
//   - A node's behaviour is middleware: [Retry], [Timeout], [IdleTimeout],
//     [Cache], [Limit], [Recover].
//   - A node must heed its context. Nothing of a run outlives the call that
//     started it, so a node that does not return holds the caller.
//   - Errors are [RunError]s that wrap a [NodeError] for each failed task; a
//     panic in a node is one with a [PanicError]. A store that fails, fails the
//     run.
//   - [Thread.Stream] gives every [Event] of a run, subgraphs included.
//
// The semantics are those of LangGraph where they are right; docs/execution.md
// draws a superstep, and docs/design.md says where this package differs and
// why.
package graph
