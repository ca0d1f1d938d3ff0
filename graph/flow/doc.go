// Package flow runs an ordinary Go function as a durable program. A flow has a typed input
// and a typed output. Its function calls tasks with [Do], [Go], [Map] and [Call]. The result
// of each task is stored under a key, so a task that has completed does not run again when
// the flow resumes after a pause, a failure or a crash:
//
//	report, err := flow.New("report", func(ctx context.Context, topic string) (string, error) {
//		notes, err := flow.Do(ctx, "search", func(ctx context.Context) (string, error) {
//			return search(ctx, topic)
//		})
//		if err != nil {
//			return "", err
//		}
//		ok, err := Approve.Wait(ctx, notes) // a question to a person pauses the flow
//		…
//	}, graph.Options{Checkpoints: store})
//
//	snap, err := report.Thread("1").Invoke(ctx, report.Input("tea"))
//	fmt.Println(report.Output(snap))
//
// A flow is a graph of one node. It has the threads, stores, questions, events and forks of
// package graph.
//
// # Resuming
//
// When a flow resumes, its function runs again from the beginning. Tasks that have completed
// return their stored results. So the function must be cheap outside of its tasks, and must
// not have side effects there. A task runs again if it failed, if it waits for an answer, or
// if the process died before its result was stored. A task that must not take effect twice
// passes [graph.IdempotencyKey] to the service that it calls.
//
// # Changing the code
//
// A key identifies a task within one turn of a thread. The position of the call in the code
// does not matter. Tasks may be added, removed and reordered while threads wait. If the type
// of a task changes, a stored result may no longer be readable. The task then fails with an
// error that names its key. Give the task a new key to run it again.
package flow
