// Package checkpointtest is the conformance suite of [checkpoint.Store].
//
// The tests of a store run the suite and its benchmarks:
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
// Each case is a subtest with the name group/case and a store of its own. A failed
// case logs the promise that the store broke. The cases of an optional interface,
// such as [checkpoint.Pruner], run only if the store implements it. A method that
// returns [errors.ErrUnsupported] counts as not implemented. The suite logs what it
// left out: run it once with go test -v, and look for "left out".
//
// Set the other fields of [Harness] to test a store whose data can be reopened or
// damaged.
//
// A case that panics, or that does not end within two minutes, fails like any other.
//
// The package needs no module besides Weft and the standard library.
package checkpointtest
