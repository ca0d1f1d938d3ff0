// Package executortest is the conformance suite of [graph.Executor].
//
// The tests of an executor run the suite. The harness connects the two ends of a queue: a worker
// calls the function run with each set of tasks that the executor passes on.
//
//	func TestExecutor(t *testing.T) {
//		executortest.Run(t, executortest.Harness{
//			Start: func(tb testing.TB, run executortest.RunFunc) graph.Executor {
//				queue := startQueue(tb, run) // its workers call run, and repeat a call that failed
//				return graph.Executor{Execute: queue.Execute}
//			},
//		})
//	}
//
// Each case is a subtest with the name group/case, and with an executor and a store of its own. A
// failed case logs the promise that the executor broke. The cases run concurrently.
package executortest
