// Package checkpointtest checks that a [checkpoint.Store] keeps its promises.
//
// Whoever writes a store runs the suite over it, and its benchmarks:
//
//	func open(tb testing.TB) checkpoint.Store {
//		store, err := mystore.Open(filepath.Join(tb.TempDir(), "db"))
//		if err != nil {
//			tb.Fatal(err)
//		}
//		tb.Cleanup(func() { store.Close() })
//		return store
//	}
//
//	func TestStore(t *testing.T)       { checkpointtest.Run(t, open) }
//	func BenchmarkStore(b *testing.B) { checkpointtest.Bench(b, open) }
//
// Every case is a subtest of its own, named group/case, on a store of its own;
// a failure says the promise that was broken. The cases of an optional power,
// such as [checkpoint.Pruner], run when the store has it: a method that returns
// [errors.ErrUnsupported] counts as missing. The powers found are logged.
//
// A store whose data outlives it sets more of a [Harness] than its Open, and
// gets the cases for that.
//
// The package uses only the standard library.
package checkpointtest
