package recall

import (
	"runtime"
	"sync"
)

// each calls f for all numbers below n, on all processors.
func each(n int, f func(i int)) {
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	group.Wait()
}
