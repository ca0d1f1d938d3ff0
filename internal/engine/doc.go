// Package engine runs compiled graphs.
// It works on plans, states and stored bytes.
// Users call package graph, which compiles a graph to a plan and calls this package.
//
//	caller ─writes→ input ─→ resume ──run──→ loop ──tasks──→ workers ─→ node
//	                           ↑ Get           │ ↑              │ update
//	                    checkpoint.Store       │ └── frontier ←─ commit ←┘ (task order)
//	                           ↑ Put, PutWrites│                  │ checkpoint
//	                           └── durability ←┴──────────────────┘
//	                    loop, workers ──events──→ stream ──→ caller's loop
//
// The list orders the files: a file uses files that the list names before it. The test
// internal/arch/fileorder_test.go counts the exceptions, which may only become fewer, and
// prints them with go test -v.
//
//   - signal.go: the writes that steer the engine, such as Goto, Send and ToParent.
//   - answertype.go: the types of the answers to questions.
//   - plan.go, suggest.go: the compiled graph; the most similar node name for an error text.
//   - frontier.go: computes which tasks are due after a superstep.
//   - taskid.go: ids of tasks, under present and former names of their nodes.
//   - control.go: encodes and decodes a frontier for a checkpoint.
//   - pendingdecode.go, pendingencode.go: the stored form of pending writes.
//   - event.go, stream.go: the events of a run and the description of a checkpoint; the delivery of events.
//   - context.go: the context of the nodes, and the context for calls of the store,
//     which ends 10 s later.
//   - exitwriter.go, durability.go: the three writers, one for each durability mode.
//   - runlog.go: assigns ids to the checkpoints of a run and passes them to the writer.
//   - hooks.go: functions that a run calls, for tracing and metrics.
//   - options.go: the options of a run, and the session that its subgraphs share.
//   - task.go: the task, which is also the context of its node.
//   - targets.go: the targets of a task, from Goto and Send in its update and from its branches.
//   - execute.go: makes the tasks of a superstep, and calls the node of a task.
//   - lease.go: acquires the thread for a run, by the conflict policy.
//   - idle.go: ends a node that gives no heartbeat for too long.
//   - once.go, question.go: side effects of a task and their keys; its questions.
//   - taskcontext.go: other methods for a node: identity, remaining steps, emitted values, attempts.
//   - run.go: the loop of supersteps.
//   - snapshot.go, snapshotpolicy.go: snapshots of a thread; snapshots in checkpoints.
//   - parentwrites.go: the writes of a subgraph for its parent graph.
//   - pending.go: stores the result of a task before the commit, and restores it.
//   - workers.go: runs the tasks of a superstep concurrently.
//   - executor.go: passes tasks to other processes, and reads their outcomes.
//   - commit.go: applies the writes of a superstep and stores a checkpoint; if a write is
//     refused, the results of the superstep do not count.
//   - rollback.go: removes a run that another run on the thread replaced.
//   - resume.go: rebuilds a run from a stored checkpoint.
//   - inner.go: runs a task inside the task of a node, for package flow.
//   - subgraph.go: runs the graph of a subgraph node.
//   - input.go, answer.go: sort the input of a run; store answers and other edits.
//   - invoke.go: runs the graph from start to end.
//   - remotetasks.go: runs tasks that the run of another process passed on.
//   - read.go, update.go: read and edit a thread without running its nodes.
package engine
