package extract

import "sync"

// workers is a bounded set of goroutines. One goroutine uses it.
type workers struct {
	free chan struct{} // one token for each idle worker
	idle chan struct{} // receives when a worker becomes idle
	busy sync.WaitGroup
}

func newWorkers(n int) *workers {
	w := &workers{free: make(chan struct{}, n), idle: make(chan struct{}, 1)}
	for range n {
		w.free <- struct{}{}
	}
	return w
}

// allIdle reports whether no worker is busy.
func (w *workers) allIdle() bool { return len(w.free) == cap(w.free) }

// run calls work in an idle worker.
func (w *workers) run(work func()) {
	<-w.free
	w.busy.Go(func() {
		defer func() {
			w.free <- struct{}{}
			select {
			case w.idle <- struct{}{}:
			default:
			}
		}()
		work()
	})
}
