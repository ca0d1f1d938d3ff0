// Package memorytest checks that what keeps a memory keeps its promises.
//
// Whoever writes a [memory.Store] runs the suite over it, and its benchmarks:
//
//	func open(tb testing.TB) memory.Store {
//		store, err := mystore.Open(filepath.Join(tb.TempDir(), "db"))
//		if err != nil {
//			tb.Fatal(err)
//		}
//		tb.Cleanup(func() { store.Close() })
//		return store
//	}
//
//	func TestFacts(t *testing.T)       { memorytest.RunFacts(t, open) }
//	func TestTurns(t *testing.T)       { memorytest.RunQueue(t, openQueue) }
//	func BenchmarkFacts(b *testing.B) { memorytest.BenchFacts(b, open) }
//
// Every case is a subtest of its own, named group/case, on a store of its own; a
// failure says the promise that was broken. The cases of a [memory.Sweeper] run when
// the store is one. With -short the large cases are smaller.
//
// The package uses only the standard library.
package drivertest
