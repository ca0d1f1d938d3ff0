// Package fault injects the faults that a checkpoint store must survive. It is for tests.
// It kills and stops processes, breaks connections, and stops and restarts PostgreSQL
// servers. docs/reliability.md lists the tests with numbers from F1 to F24.
//
//	server, err := fault.NewServer(ctx, dir, programs)
//	…
//	proxy, err := fault.NewProxy(server.Addr())
//	proxy.Intercept(func(d fault.Direction, b []byte) fault.Action { return fault.Action{Split: true} })
//
// The tests of this package have a short form and a long form. The command make faults runs
// the long form. Each test logs its seed. WEFT_SEED=N repeats a test with the same random
// decisions. The package needs a Unix system.
package fault
