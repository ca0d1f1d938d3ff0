// Package drivertest tests the stores of a backend, see package driver.
//
// A backend calls a function for each of its stores, and may run the benchmarks:
//
//	func open(tb testing.TB) driver.FactStore {
//		db, err := mystore.Open(filepath.Join(tb.TempDir(), "db"))
//		if err != nil {
//			tb.Fatal(err)
//		}
//		tb.Cleanup(func() { db.Close() })
//		return db.Facts()
//	}
//
//	func TestFacts(t *testing.T)      { drivertest.RunFacts(t, open) }
//	func BenchmarkFacts(b *testing.B) { drivertest.BenchFacts(b, open) }
//
// Each case is a subtest with the name group/case, on a new store. A failure names the promise
// that the store breaks. With -short, the large cases are smaller.
package drivertest
