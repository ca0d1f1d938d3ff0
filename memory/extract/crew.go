package extract

import "sync"

// A crew is the workers of one caller of the learner. It is used by one goroutine.
type crew struct {
	free chan struct{} // a token for each worker that has nothing to do
	idle chan struct{} // says that there is another one
	busy sync.WaitGroup
}

func newCrew(workers int) *crew {
	c := &crew{free: make(chan struct{}, workers), idle: make(chan struct{}, 1)}
	for range workers {
		c.free <- struct{}{}
	}
	return c
}

// rests reports whether nobody works.
func (c *crew) rests() bool { return len(c.free) == cap(c.free) }

// set sets a free worker to work.
func (c *crew) set(work func()) {
	<-c.free
	c.busy.Go(func() {
		defer func() {
			c.free <- struct{}{}
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}()
		work()
	})
}
