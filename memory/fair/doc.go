// Package fair keeps one tenant from being felt by the others: what asks for all it can get
// waits for itself.
//
//	gate, err := fair.New(fair.Options{Concurrent: 8, PerTenant: 1, Share: 0.2})
//	if err != nil {
//		return err
//	}
//	facts, err := memory.New(gate.Facts(db.Facts()), memory.Options{})
//	...
//	base, err := knowledge.New(gate.Knowledge(db.Knowledge()), knowledge.Options{})
//
// What to know about it:
//
//   - One [Gate] stands before all stores of a database, as they share what it can do. What is
//     counted is the time that calls take at the store, not how many they are: a search of a
//     large scope costs more than one of a small scope, and a write of a thousand facts more than
//     of one.
//   - The tenant is that of the scope. Calls of a tenant go in the order they came; between
//     tenants, the one that has used least goes first.
//   - A call that has to wait does so until its context ends. When too many of a tenant
//     wait, the next is refused at once with a [*BusyError], which is a [memory.ErrBusy].
//   - What is yielded row by row is read a page at a time, and a caller has no place at the
//     store while it looks at the rows: it may ask within such a loop.
//   - A gate has no goroutine, and nothing of a tenant a second after its last call,
//     or when what it used beyond its share is made up for.
package fair
