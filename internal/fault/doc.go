// Package fault brings about what a store has to survive, for tests: processes that
// are killed or stopped, connections that break in every way, a PostgreSQL that goes
// away and comes back. What is proved with it stands in docs/reliability.md.
//
//	server, err := fault.NewServer(ctx, dir, programs)
//	…
//	proxy, err := fault.NewProxy(server.Addr())
//	proxy.Treat(func(d fault.Direction, b []byte) fault.Fate { return fault.Fate{Split: true} })
//
// The tests of this package have a short form, and a long one for make faults. Each
// prints its seed, and WEFT_SEED makes it play the same again. It needs a Unix.
package fault
