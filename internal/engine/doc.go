// Package engine runs compiled graphs: what happens between Invoke and its return.
// It knows plans, states and stored bytes. Package graph is what users call, and
// gives the engine its plans.
//
//	caller ─writes→ input ─→ resume ──run──→ loop ──tasks──→ workers ─→ node
//	                           ↑ Get           │ ↑              │ update
//	                    checkpoint.Store       │ └── frontier ←─ commit ←┘ (task order)
//	                           ↑ Put, PutWrites│                  │ checkpoint
//	                           └── durability ←┴──────────────────┘
//	                    loop, workers ──events──→ stream ──→ caller's loop
//
// The files, lowest first: each uses those above it.
//
//   - signal.go: the writes that steer the engine: Goto, Send, ToParent, Answer.
//   - plan.go, suggest.go: nodes, edges and joins, as Compile made them; the nearest name for an error.
//   - frontier.go: what is due next. A pure function.
//   - taskid.go: names of tasks, and their former names.
//   - control.go: the stored form of a frontier.
//   - pendingcodec.go: the stored form of an unfinished superstep: results, questions, answers and side effects.
//   - event.go, stream.go: events, and the channel that carries them to their reader.
//   - context.go: the context of the nodes, and the one with which progress is stored.
//   - exitwriter.go, durability.go: when progress is stored: the exit, sync and async writers.
//   - runlog.go: names the checkpoints of a run and gives them to the writer.
//   - options.go: what a run is given.
//   - task.go: one node's part of a superstep, and the context of the node.
//   - branch.go: an update split into writes and targets: Goto, Send and branches.
//   - execute.go: the tasks of a superstep, made or restored; the call of a node, and its outcome.
//   - lease.go: the right of a run to its thread, and conflicts over it.
//   - idle.go: ends a node that shows no sign of life.
//   - once.go, question.go, taskcontext.go: what a node can ask of its task: side effects, questions, keys.
//   - run.go: the loop of supersteps.
//   - snapshot.go, snapshotpolicy.go: the state of a thread as users see it; when a checkpoint holds the whole state.
//   - parentwrites.go: what a subgraph writes for the graph around it.
//   - pending.go: stores the result of a task before its superstep is complete, and restores it.
//   - workers.go: runs the tasks of a superstep at once.
//   - commit.go: folds a superstep into the state, and makes a checkpoint of it.
//   - rollback.go: a run that was superseded is undone.
//   - resume.go: a stored checkpoint becomes a run again.
//   - subgraph.go: a graph that a node runs.
//   - answer.go: finds the open question of an answer.
//   - input.go, invoke.go: from the caller's writes to the first superstep, and to the end of the run.
//   - read.go, update.go: reading and editing a thread without a run.
package engine
