// Package temporal runs threads of graphs on Temporal.
//
//	client := temporal.NewClient(c, temporal.Options{})       // c is a client of Temporal's SDK
//	snap, err := client.Thread(g, "order-42").Invoke(ctx, Order.Put(order))
//
//	worker, err := temporal.NewWorker(c, temporal.WorkerOptions{Graphs: []*graph.Graph{g}})
//	err = worker.Run(ctx)                                     // in any number of processes
//
// A thread is a workflow, and its id is that of the thread. An input is an update of the workflow, and a run is an
// activity that resumes from the checkpoint store when its worker dies. States stay in the checkpoint
// store, which all processes share; Temporal gets inputs, answers and ids. Nodes, graphs and their
// tests do not change.
//
// Rules:
//
//   - The durability of the graphs is graph.Sync. With another one, a worker that dies loses supersteps.
//   - The store has leases that expire, such as that of pgcheckpoint. A run waits for the lease of a worker that died.
//   - A node runs at least once, as ever: put side effects into graph.Once, or give them an idempotency key.
//   - The input of a run has at most 1 MB of JSON.
//
// [NewExecutor] spreads the tasks of large supersteps over the workers. [NewDeadline] answers questions
// that nobody answers in time. [Client.CreateSchedule] starts runs at set times. docs/distributed.md says
// which part is Temporal's, and what happens when a part fails.
package temporal
