// Package runstest is the conformance suite of [runs.Store].
//
// The tests of a store run the suite:
//
//	func TestStore(t *testing.T) {
//		runstest.Run(t, func(tb testing.TB) runs.Store {
//			store, err := mystore.Open(filepath.Join(tb.TempDir(), "db"))
//			if err != nil {
//				tb.Fatal(err)
//			}
//			tb.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// Each case is a subtest with the name group/case and a store of its own. A failed case logs the
// promise that the store broke.
//
// The package needs no module besides Weft and the standard library.
package runstest
