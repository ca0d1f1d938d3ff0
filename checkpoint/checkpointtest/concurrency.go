package checkpointtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/suitetest"
)

var concurrencyCases = []testCase{
	{name: "concurrency/one_writer_wins", promise: "of several writers with the same head exactly one succeeds, and its checkpoint is the one stored", run: oneWriterWins},
	{name: "concurrency/first_writer_wins", promise: "exactly one writer creates a thread", run: func(f *fixture) {
		for round := range 20 {
			thread := fmt.Sprint("t", round)
			won := f.race(thread, "", 8)
			f.wantList(checkpoint.Query{Thread: thread}, won...)
		}
	}},
	{name: "concurrency/threads", promise: "concurrent writers of different threads all succeed", run: func(f *fixture) {
		f.concurrently(8, func(f *fixture, i int) error {
			return f.fillThread(fmt.Sprint("t", i), "")
		})
		for i := range 8 {
			f.wantFilled(fmt.Sprint("t", i), "")
		}
	}},
	{name: "concurrency/namespaces", promise: "concurrent writers of different namespaces of one thread all succeed", run: func(f *fixture) {
		f.concurrently(8, func(f *fixture, i int) error {
			return f.fillThread("t", fmt.Sprint("ns", i))
		})
		for i := range 8 {
			f.wantFilled("t", fmt.Sprint("ns", i))
		}
	}},
	{name: "concurrency/writes", promise: "a store keeps the pending writes of all tasks that end at the same time", run: func(f *fixture) {
		c := f.put("t")
		const tasks = 16
		var want []checkpoint.Write
		for i := range tasks {
			task := fmt.Sprintf("task%02d", i)
			want = append(want, write(task, 0, "a"), write(task, 1, "b"))
		}
		f.concurrently(tasks, func(f *fixture, i int) error {
			return f.store.PutWrites(f.ctx, c.Key, want[2*i:2*i+2])
		})
		f.wantWrites("writes", f.get(c.Key).Writes, want...)
	}},
	{name: "concurrency/readers", promise: "a reader sees only complete checkpoints while another goroutine writes", run: readers},
}

// concurrently calls do from n goroutines and waits for them. The fixture of each
// goroutine shares only the store with the others.
func (f *fixture) concurrently(n int, do func(f *fixture, i int) error) {
	f.Helper()
	failed := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		own := *f
		own.newest = map[checkpoint.Key]checkpoint.Checkpoint{}
		own.made = (i + 1) << 20
		wait.Go(func() {
			failed[i] = suitetest.Recovered(func() error { return do(&own, i) })
		})
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		f.Fatal(err)
	}
}

// race calls Put from n goroutines with the same head, and fails unless exactly one call
// succeeds. It returns a slice with the checkpoint of that call.
func (f *fixture) race(thread, head string, n int) []checkpoint.Checkpoint {
	f.Helper()
	tries := make([]checkpoint.Checkpoint, n)
	succeeded := make([]bool, n)
	for i := range tries {
		f.made++
		tries[i] = checkpoint.Checkpoint{
			Key: checkpoint.Key{Thread: thread, ID: uuid(f.made)}, Parent: head, Source: checkpoint.Loop, Changes: changes(fmt.Sprint("w=", i)),
		}
	}
	f.concurrently(n, func(f *fixture, i int) error {
		err := f.store.Put(f.ctx, tries[i], head)
		succeeded[i] = err == nil
		if errors.Is(err, checkpoint.ErrConflict) {
			return nil
		}
		return err
	})
	var winners []checkpoint.Checkpoint
	for i, c := range tries {
		if succeeded[i] {
			winners = append(winners, c)
		}
	}
	if len(winners) != 1 {
		f.Fatalf("head %q: %d of %d writers succeeded, want 1", head, len(winners), n)
	}
	return winners
}

func oneWriterWins(f *fixture) {
	const writers, rounds = 16, 40
	var acknowledged []checkpoint.Checkpoint
	head := ""
	for range rounds {
		won := f.race("t", head, writers)
		acknowledged = append(acknowledged, won...)
		head = won[0].ID
	}
	f.wantList(checkpoint.Query{Thread: "t"}, reversed(acknowledged)...)
	f.wantLineage(acknowledged[rounds-1], acknowledged...)
}

const filled = 30

func (f *fixture) fillThread(thread, namespace string) error {
	for i := range filled {
		if err := f.tryPut(f.next(thread, inNamespace(namespace), withChanges(fmt.Sprintf("%s%s=%d", thread, namespace, i)))); err != nil {
			return err
		}
	}
	return nil
}

func (f *fixture) wantFilled(thread, namespace string) {
	f.Helper()
	var want []string
	for i := range filled {
		want = append(want, fmt.Sprintf("%s%s=%d", thread, namespace, i))
	}
	key := checkpoint.Key{Thread: thread, Namespace: namespace}
	if got := state(f.get(key).Lineage); !slices.Equal(got, want) {
		f.Errorf("%+v: got %q want %q", key, got, want)
	}
}

// readers checks that while a goroutine puts checkpoints, the checkpoint of step n always has
// n+1 changes in its lineage, and has all of its pending writes or none. A List of three
// checkpoints must not yield a step that is more than two before the step that Get returned.
func readers(f *fixture) {
	const steps = 60
	f.put("t", withChanges("n=0"))
	var written atomic.Bool
	f.concurrently(4, func(f *fixture, i int) error {
		if i == 0 {
			defer written.Store(true)
			return writeSteps(f, steps)
		}
		for {
			last := written.Load()
			c, err := f.store.Get(f.ctx, checkpoint.Key{Thread: "t"})
			if err != nil {
				return err
			}
			if err := checkStep(c); err != nil {
				return err
			}
			if c.Step == steps {
				return nil
			}
			if last {
				return fmt.Errorf("the newest checkpoint has step %d after the writer ended with step %d", c.Step, steps)
			}
			for listed, err := range f.store.List(f.ctx, checkpoint.Query{Thread: "t", Limit: 3}) {
				if err != nil {
					return err
				}
				if listed.Step < c.Step-2 {
					return fmt.Errorf("list yields step %d after Get returned step %d", listed.Step, c.Step)
				}
			}
		}
	})
}

func writeSteps(f *fixture, n int) error {
	at, err := f.store.Get(f.ctx, checkpoint.Key{Thread: "t"})
	if err != nil {
		return err
	}
	f.newest[namespaceOf(at.Key)] = at
	for range n {
		c := f.next("t", withChanges("n=1"), settles())
		if err := f.tryPut(c); err != nil {
			return err
		}
		if err := f.store.PutWrites(f.ctx, c.Key, []checkpoint.Write{write("a", 0, "1"), write("b", 0, "2")}); err != nil {
			return err
		}
	}
	return nil
}

func checkStep(c checkpoint.Checkpoint) error {
	if got := len(state(c.Lineage)); got != c.Step+1 {
		return fmt.Errorf("step %d has %d changes", c.Step, got)
	}
	if n := len(c.Writes); n != 0 && n != 2 {
		return fmt.Errorf("step %d has %d of 2 writes", c.Step, n)
	}
	return nil
}
